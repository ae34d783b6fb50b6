// Opens pages in one Chromium, in turns: cold ones that note when their first result was there, then warm ones that
// run their model again and again. Reads what to open from standard input, and prints what was measured.
import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const { urls, navigations, rounds, milliseconds } = JSON.parse(readFileSync(0, "utf8"));
const args = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"];
args.push("--disable-component-update", "--disable-sync");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args });

/** A page that has its first result, in a context without anything in its cache; and the sizes of what it fetched, to
 * be awaited before it is closed, where these are asked for. */
async function open(url, weighed = false) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const bodies = [];
  const weigh = async (response) => [response.url(), (await response.request().sizes()).responseBodySize];
  if (weighed) page.on("response", (response) => bodies.push(weigh(response)));
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(url);
  try {
    await page.waitForFunction(() => globalThis.first, undefined, { timeout: 60000 });
  } catch (error) {
    throw new Error(`${url}: ${errors.join("; ") || error}`);
  }
  return { context, page, bodies };
}

const answers = Object.fromEntries(urls.map((url) => [url, { first: [], turns: [] }]));
for (let i = 0; i < navigations; i++) {
  for (const url of urls) {
    const { context, page, bodies } = await open(url, i === 0);
    answers[url].first.push(await page.evaluate(() => globalThis.first));
    if (i === 0) answers[url].files = Object.fromEntries(await Promise.all(bodies));
    await context.close();
  }
}
const pages = [];
for (const url of urls) pages.push([url, (await open(url)).page]);
for (const [, page] of pages) await page.evaluate(() => globalThis.turn(1500)); // until compilers are done
for (let i = 0; i < rounds; i++) {
  for (const [url, page] of pages)
    answers[url].turns.push(await page.evaluate((ms) => globalThis.turn(ms), milliseconds));
}
console.log(JSON.stringify({ version: browser.version(), answers }));
await browser.close();
