// Uses the playground as a visitor does: the example, int8, the generated C, a run, a file that is none, a phone's width.
import { readFileSync } from "node:fs";

import look from "./look.mjs";

const SECONDS = 120; // on a busy machine: Python itself takes several to start

export default async (page, { wrong, unknown, screenshot, ways }) => {
  page.setDefaultTimeout(SECONDS * 1000);
  const settled = () => page.waitForFunction(() => document.body.getAttribute("aria-busy") === "false");
  const text = (id) => page.evaluate((which) => document.getElementById(which).textContent, id);
  const files = () =>
    page.evaluate(async () => {
      const found = {};
      for (const { value } of document.getElementById("file").options) {
        document.getElementById("file").value = value;
        document.getElementById("file").dispatchEvent(new Event("change"));
        found[value] = document.getElementById("code").textContent;
      }
      return found;
    });
  await settled();
  const found = { started: await page.evaluate(() => performance.now()) };
  await page.click("#example");
  await page.waitForFunction(() => document.getElementById("sampled").textContent.includes("450"));
  await settled();
  found.facts = await text("facts");
  found.float = await files();
  await page.selectOption("#dtype", "int8");
  await settled();
  found.int8 = await files();
  const frame = await (await page.$("#report")).contentFrame();
  await frame.waitForSelector("h1");
  found.report = await frame.evaluate(() => document.body.innerText);
  await page.screenshot({ path: screenshot });
  await page.click("#tab-run");
  await page.click("#run");
  await settled();
  await page.click("#compile");
  await page.waitForFunction(() => /batches/.test(document.getElementById("module").textContent));
  await settled();
  found.module = await text("module");
  found.outputs = await text("outputs");
  found.looks = await look(page, { ways });
  await page.click("#tab-code");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#download")]);
  found.archive = await download.path().then((path) => readFileSync(path).toString("base64"));
  await page.setInputFiles("#model", wrong);
  await page.waitForFunction(() => !document.getElementById("error").hidden);
  found.error = await text("error");
  await page.setInputFiles("#model", unknown);
  await page.waitForFunction(() => !document.getElementById("missing").hidden);
  await settled();
  found.missing = await page.evaluate(() => document.getElementById("missing").innerText);
  for (const [way, facts] of Object.entries(await look(page, { ways }))) found.looks[`${way}, missing`] = facts;
  return found;
};
