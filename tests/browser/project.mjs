// Gives a page of `edgekit new` an image where it takes one, else presses its button, and tells whose numbers it shows.
export default async function (page) {
  await page.waitForFunction(() => document.getElementById("status").textContent !== "Loading");
  return page.evaluate(async () => {
    const find = (id) => document.getElementById(id);
    const file = find("file");
    if (file) {
      const canvas = new OffscreenCanvas(20, 20);
      canvas.getContext("2d").fillRect(5, 2, 6, 15);
      const given = new DataTransfer();
      given.items.add(new File([await canvas.convertToBlob()], "x.png", { type: "image/png" }));
      file.files = given.files;
      file.dispatchEvent(new Event("change"));
    } else {
      find("run").click();
    }
    for (let i = 0; i < 100 && !find("results").textContent; i++) await new Promise((done) => setTimeout(done, 50));
    return find("results").textContent.split("\n").map((line) => line.split(" ")[1]);
  });
}
