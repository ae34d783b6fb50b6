// Reads lines of JSON, each with the URL of a page, visits them in a browser, and answers each with a line. The
// pages of the two drivers have the same methods, as far as actions use them.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.NODE_TOOLS}/`);
const [engine, executablePath] = process.argv.slice(2);
const SECONDS = 120;
const SIZE = { width: 800, height: 600 };
const { newPage, close } = await { chromium, firefox }[engine]();

async function chromium() {
  const args = [
    "--no-sandbox", // it needs rights that containers lack, and all pages are our own
    "--enable-unsafe-webgpu", // a software adapter, which headless browsers do not offer otherwise
    "--use-webgpu-adapter=swiftshader",
    "--use-fake-ui-for-media-stream", // a camera and a microphone that pages may use
    "--use-fake-device-for-media-stream",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    // Each window would load two pages of its own, for what is typed into the bar of addresses: half of a visit's
    // processor time. The others are of playwright's list, which this one replaces.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,PaintHolding",
  ];
  const browser = await require("playwright-core").chromium.launch({ executablePath, args });
  return {
    newPage: async () => (await browser.newContext({ viewport: SIZE })).newPage(),
    close: () => browser.close(),
  };
}

async function firefox() {
  const { launch } = await import(pathToFileURL(require.resolve("puppeteer-core")));
  const browser = await launch({ browser: "firefox", executablePath, headless: true, defaultViewport: SIZE });
  return {
    newPage: async () => (await browser.createBrowserContext()).newPage(),
    close: () => browser.close(),
  };
}

async function visit({ url, actions, arguments: given }) {
  const page = await newPage();
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
      result = await page.evaluate(found, SECONDS);
    }
    return { result, errors, requests };
  } catch (error) {
    return { failure: String(error), errors };
  } finally {
    await page.close();
  }
}

// What a page leaves as `result`. The drivers' own waiting asks at each frame, so that the browser paints frames.
async function found(seconds) {
  for (let i = 0; globalThis.result === undefined && i < seconds * 50; i++)
    await new Promise((resolve) => setTimeout(resolve, 20));
  if (globalThis.result === undefined) throw new Error(`no result after ${seconds} seconds`);
  return globalThis.result;
}

for await (const line of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(await visit(JSON.parse(line))));
await close();
