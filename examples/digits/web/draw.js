// Draw a digit, and see it classified after each stroke.
import { createModel, outputs } from "./build/npm/digits.js";
import { putImage } from "./build/npm/digits.image.js";

const board = document.getElementById("board");
const answer = document.getElementById("answer");
const ink = board.getContext("2d", { willReadFrequently: true });
Object.assign(ink, { strokeStyle: "#fff", lineWidth: 30, lineCap: "round", lineJoin: "round" });

const rows = Array.from({ length: 10 }, (_, digit) => {
  const row = document.getElementById("scores").insertRow();
  row.insertCell().textContent = digit;
  row.insertCell().append(document.createElement("meter"));
  return row;
});

/** The drawing alone, without the paper around it, in the middle of a square: so the digits were that the network
 * was trained on. Undefined where there is nothing. */
function cut() {
  const { width, height } = board;
  const { data } = ink.getImageData(0, 0, width, height);
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (!data[4 * (y * width + x) + 3]) continue;
      [left, right] = [Math.min(left, x), Math.max(right, x + 1)];
      [top, bottom] = [Math.min(top, y), Math.max(bottom, y + 1)];
    }
  }
  if (right <= left) return undefined;
  const side = Math.max(right - left, bottom - top);
  const square = new OffscreenCanvas(side, side);
  const start = [(side - right + left) / 2, (side - bottom + top) / 2];
  square.getContext("2d").drawImage(board, left, top, right - left, bottom - top, ...start, right - left, bottom - top);
  return square;
}

function classify(model) {
  const drawing = cut();
  if (!drawing) return;
  putImage(drawing, model.input);
  const scores = model.run();
  const best = scores.indexOf(Math.max(...scores));
  const { scale, zero } = outputs.y;
  for (const [digit, row] of rows.entries()) {
    row.className = digit === best ? "best" : "";
    row.querySelector("meter").value = scale * (scores[digit] - zero);
  }
  answer.textContent = `This is a ${best}.`;
}

function start(model) {
  let last;
  const at = ({ offsetX, offsetY }) => [offsetX, offsetY];
  board.onpointerdown = (event) => {
    board.setPointerCapture(event.pointerId);
    last = at(event);
  };
  board.onpointermove = (event) => {
    if (!last) return;
    ink.beginPath();
    ink.moveTo(...last);
    ink.lineTo(...(last = at(event)));
    ink.stroke();
  };
  board.onpointerup = board.onpointercancel = () => {
    last = undefined;
    classify(model);
  };
  document.getElementById("clear").onclick = () => {
    ink.clearRect(0, 0, board.width, board.height);
    for (const row of rows) {
      row.className = "";
      row.querySelector("meter").value = 0;
    }
    answer.textContent = "Draw on the board.";
  };
  answer.textContent = "Draw on the board.";
}

createModel().then(start, (error) => (answer.textContent = error.message));
