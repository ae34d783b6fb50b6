// Lets the page go on with a text, taking the best token each time, and says what it wrote.
export default async (page, { text, tokens, screenshot }) => {
  await page.waitForSelector("#go:enabled");
  await page.evaluate(
    ([text, tokens]) => {
      for (const [id, value] of Object.entries({ text, temperature: 0, tokens }))
        document.getElementById(id).value = value;
    },
    [text, tokens],
  );
  await page.click("#go");
  await page.waitForFunction(() => document.querySelector("#answer").textContent.includes("a second"));
  await page.screenshot({ path: screenshot });
  return page.evaluate(() => document.querySelector("#written").textContent);
};
