// Draws strokes on the board, a list of points each, takes a screenshot, and says what the page read.
const textOf = (page, selector) =>
  page.evaluate((which) => document.querySelector(which).textContent.trim(), selector);

export default async (page, { strokes, screenshot }) => {
  await page.waitForFunction(() => document.querySelector("#answer").textContent === "Draw on the board.");
  const [left, top] = await page.evaluate(() => {
    const { x, y } = document.getElementById("board").getBoundingClientRect();
    return [x, y];
  });
  for (const stroke of strokes) {
    for (const [i, [x, y]] of stroke.entries()) {
      await page.mouse.move(left + x, top + y, { steps: i ? 8 : 1 });
      if (i === 0) await page.mouse.down();
    }
    await page.mouse.up();
  }
  const found = [await textOf(page, "#answer"), await textOf(page, ".best")];
  await page.screenshot({ path: screenshot });
  await page.click("#clear");
  return [...found, await textOf(page, "#answer")];
};
