"""A web page that shows what a model costs: EdgeKit in the browser, by Pyodide (ADR 0103)."""
