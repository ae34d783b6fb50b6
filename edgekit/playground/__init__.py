"""A web page that shows what becomes of a model: EdgeKit in the browser, by Pyodide (ADR 0103)."""
