// Draws strokes on the board, a list of points each, takes a screenshot, and says what the page read.
export default async (page, { strokes, screenshot }) => {
  await page.getByText("Draw on the board.").waitFor();
  const board = await page.locator("#board").boundingBox();
  for (const stroke of strokes) {
    for (const [i, [x, y]] of stroke.entries()) {
      await page.mouse.move(board.x + x, board.y + y, { steps: i ? 8 : 1 });
      if (i === 0) await page.mouse.down();
    }
    await page.mouse.up();
  }
  const answer = await page.textContent("#answer");
  await page.screenshot({ path: screenshot });
  const best = await page.locator(".best").textContent();
  await page.getByText("Clear").click();
  return [answer, best.trim(), await page.textContent("#answer")];
};
