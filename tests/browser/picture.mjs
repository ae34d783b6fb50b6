// Gives a page a grey picture by its file input, and says what it shows; `screenshot` keeps that, where it is given.
import { readFileSync } from "node:fs";

export default async function (page, { pixels, width, screenshot, stored }) {
  await page.waitForFunction(() => document.getElementById("status").textContent !== "Loading");
  const shown = await page.evaluate(
    async ([pixels, width]) => {
      const find = (id) => document.getElementById(id);
      const canvas = new OffscreenCanvas(width, pixels.length / width);
      const rgba = Uint8ClampedArray.from({ length: 4 * pixels.length }, (_, i) => (i % 4 < 3 ? pixels[i >> 2] : 255));
      canvas.getContext("2d").putImageData(new ImageData(rgba, width), 0, 0);
      const given = new DataTransfer();
      given.items.add(new File([await canvas.convertToBlob()], "x.png", { type: "image/png" }));
      find("file").files = given.files;
      find("results").textContent = "";
      find("file").dispatchEvent(new Event("change"));
      for (let i = 0; i < 200 && !find("results").textContent; i++) await new Promise((done) => setTimeout(done, 25));
      return [find("status").textContent, find("results").textContent];
    },
    [pixels, width],
  );
  if (!screenshot) return { shown };
  await page.setViewportSize({ width: 480, height: 460 });
  await page.emulateMedia({ colorScheme: "light" });
  await page.screenshot({ path: screenshot });
  const images = [screenshot, stored].map((path) => readFileSync(path).toString("base64"));
  return { shown, off: await page.evaluate(differences, images) };
}

// The mean difference of two pictures, so small that the fonts of a machine hardly matter.
async function differences(images) {
  const small = async (data) => {
    const blob = new Blob([Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))], { type: "image/png" });
    const context = new OffscreenCanvas(24, 23).getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(await createImageBitmap(blob), 0, 0, 24, 23);
    return context.getImageData(0, 0, 24, 23).data;
  };
  const [a, b] = await Promise.all(images.map(small));
  return a.reduce((sum, value, i) => sum + Math.abs(value - b[i]), 0) / a.length;
}
