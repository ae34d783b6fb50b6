// Reads lines of JSON, each with the URL of a page, visits them in Chromium, and answers each with a line.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(`${process.env.NODE_TOOLS}/`)("playwright-core");
const SECONDS = 30;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: [
    "--no-sandbox", // it needs rights that containers lack, and all pages are our own
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});

async function visit({ url, actions, arguments: given }) {
  const context = await browser.newContext({ viewport: { width: 800, height: 600 } });
  const page = await context.newPage();
  page.setDefaultTimeout(SECONDS * 1000);
  const errors = [];
  const requests = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("request", (request) => requests.push(request.url()));
  try {
    await page.goto(url);
    let result;
    if (actions) {
      result = await (await import(pathToFileURL(actions))).default(page, given);
    } else {
      await page.waitForFunction(() => globalThis.result !== undefined);
      result = await page.evaluate(() => globalThis.result);
    }
    return { result, errors, requests };
  } catch (error) {
    return { failure: String(error), errors };
  } finally {
    await context.close();
  }
}

for await (const line of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(await visit(JSON.parse(line))));
await browser.close();
