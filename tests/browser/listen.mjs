// Presses the button of each word, and says what the page heard.
export default async (page, { screenshot }) => {
  await page.waitForFunction(() => document.querySelector("#answer").textContent === "Press a button.");
  const words = await page.evaluate(() =>
    Array.from(document.querySelectorAll("button"), (button) => button.textContent.match(/\w+(?=”)/)[0]),
  );
  const answers = {};
  for (const [i, word] of words.entries()) {
    await page.evaluate(() => (document.querySelector("#answer").textContent = "..."));
    await page.click(`button:nth-of-type(${i + 1})`);
    await page.waitForFunction(() => document.querySelector("#answer").textContent !== "...");
    answers[word] = await page.evaluate(() => document.querySelector("#answer").textContent);
  }
  await page.screenshot({ path: screenshot });
  return answers;
};
