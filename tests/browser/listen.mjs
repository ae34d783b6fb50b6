// Presses the button of each word, and says what the page heard.
export default async (page, { screenshot }) => {
  await page.getByText("Press a button.").waitFor();
  const answers = {};
  for (const button of await page.locator("button").all()) {
    const word = (await button.textContent()).match(/\w+(?=”)/)[0];
    await button.click();
    await page.waitForFunction((before) => document.getElementById("answer").textContent !== before, "Press a button.");
    answers[word] = await page.textContent("#answer");
    await page.evaluate(() => (document.getElementById("answer").textContent = "Press a button."));
  }
  await page.screenshot({ path: screenshot });
  return answers;
};
