// Gives a page a grey picture by its file input, and says what it shows.
export default async function (page, { pixels, width }) {
  await page.waitForFunction(() => document.getElementById("status").textContent !== "Loading");
  return page.evaluate(
    async ([pixels, width]) => {
      const find = (id) => document.getElementById(id);
      const canvas = new OffscreenCanvas(width, pixels.length / width);
      const rgba = Uint8ClampedArray.from({ length: 4 * pixels.length }, (_, i) => (i % 4 < 3 ? pixels[i >> 2] : 255));
      canvas.getContext("2d").putImageData(new ImageData(rgba, width), 0, 0);
      const given = new DataTransfer();
      given.items.add(new File([await canvas.convertToBlob()], "x.png", { type: "image/png" }));
      find("file").files = given.files;
      find("file").dispatchEvent(new Event("change"));
      for (let i = 0; i < 200 && !find("results").textContent; i++) await new Promise((done) => setTimeout(done, 25));
      return [find("status").textContent, find("results").textContent];
    },
    [pixels, width],
  );
}
