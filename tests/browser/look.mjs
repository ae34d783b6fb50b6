// What a page looks like, as facts: what sticks out, what overlaps, which text is hard to read.
export default async (page, { ways }) => {
  const found = {};
  for (const [width, colorScheme, media] of ways) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme, media, reducedMotion: "reduce" });
    found[`${width} ${colorScheme} ${media}`] = await page.evaluate(facts);
  }
  return found;
};

function facts() {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map(); // reading a pixel takes long, and there are few colors
  const rgba = (color) => {
    if (!known.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      known.set(color, canvas.getImageData(0, 0, 1, 1).data);
    }
    return known.get(color);
  };
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  // What is painted behind an element: of a text in a picture the shape before it, else the nearest background.
  const behind = (element) => {
    if (element.tagName === "text")
      for (let shape = element.previousElementSibling; shape; shape = shape.previousElementSibling)
        if (shape.tagName === "rect" && shape.getAttribute("height") > 8) return getComputedStyle(shape).fill;
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (rgba(color)[3] === 255) return color;
    }
    return "white";
  };
  const own = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const shown = (element) => element.getClientRects().length && getComputedStyle(element).visibility === "visible";
  const texts = [...document.querySelectorAll("body *")].filter(
    (element) => own(element) && shown(element) && !["SCRIPT", "STYLE", "title", "OPTION"].includes(element.tagName),
  );
  const faint = texts.flatMap((element) => {
    const style = getComputedStyle(element);
    const color = element instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [luminance(rgba(color)), luminance(rgba(behind(element)))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    return ratio < 4.5 ? [`${element.tagName} ${element.textContent.slice(0, 30)}: ${ratio.toFixed(2)}`] : [];
  });

  const box = (element) => element.getBoundingClientRect();
  const overlaps = [];
  const cards = [...document.querySelectorAll(".card")];
  const boxes = cards.map((card) => box(card.querySelector(".box")));
  boxes.forEach((p, i) => {
    for (const [j, q] of boxes.slice(0, i).entries())
      if (p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom)
        overlaps.push(`${cards[i].textContent} / ${cards[j].textContent}`);
  });
  const spilled = [...document.querySelectorAll(".card text, .block text")].filter((text) => {
    const [inner, outer] = [box(text), box(text.parentNode.querySelector("rect"))];
    return inner.right > outer.right + 0.5 || inner.bottom > outer.bottom + 0.5;
  });
  const covered = [...document.querySelectorAll(".block text")].filter((text) => {
    text.scrollIntoView({ block: "center", inline: "center" });
    const { left, right, top, bottom } = box(text);
    const at = [left + 1, (left + right) / 2, right - 1].map((x) => document.elementFromPoint(x, (top + bottom) / 2));
    return at.some((element) => element && !text.parentNode.contains(element) && element.closest(".block"));
  });
  scrollTo(0, 0);
  const scrolls = (element) => element.closest(".scroll, .view, .table");
  const outside = [...document.querySelectorAll("body *")].filter(
    (element) => shown(element) && !scrolls(element) && (box(element).right > innerWidth + 0.5 || box(element).left < -0.5),
  );
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  const nameless = [...document.querySelectorAll("button, input, select, a")].filter(
    (element) => !(element.textContent || element.getAttribute("aria-label") || element.labels?.length),
  );
  const moving = [...document.querySelectorAll("*")].filter((element) => {
    const style = getComputedStyle(element);
    return style.animationName !== "none" || style.scrollBehavior === "smooth" || parseFloat(style.transitionDuration) > 0;
  });
  const tables = [...document.querySelectorAll("table")];
  return {
    moving: moving.map((element) => element.outerHTML.slice(0, 90)),
    untitled: tables.filter((table) => !table.caption?.textContent).map((table) => table.outerHTML.slice(0, 90)),
    unscoped: tables.flatMap((table) =>
      [...table.rows].filter((row) => !row.querySelector("th") || row.querySelector("th:not([scope])")).map((row) => row.textContent),
    ),
    faint,
    overlaps,
    texts: texts.length,
    cards: cards.length,
    spilled: spilled.map((text) => text.textContent),
    covered: covered.map((text) => text.textContent),
    overflow: document.documentElement.scrollWidth - innerWidth,
    outside: outside.map((element) => element.outerHTML.slice(0, 90)),
    repeated: ids.filter((id, i) => ids.indexOf(id) !== i),
    nameless: nameless.map((element) => element.outerHTML.slice(0, 90)),
    dead: [...document.querySelectorAll("a[href^='#']")]
      .map((link) => link.getAttribute("href"))
      .filter((href) => !document.getElementById(href.slice(1))),
  };
}
