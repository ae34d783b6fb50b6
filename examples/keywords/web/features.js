// Sound to features, number for number as speech.py: frames of 30 ms every 20 ms, 10 mel cepstral coefficients each.
export const RATE = 8000;
export const FRAMES = 49;
export const COEFFICIENTS = 10;
const [WINDOW, STRIDE, FFT, BANDS] = [240, 160, 256, 40];
const BINS = FFT / 2 + 1;
const FULL_SCALE = 4; // the sound that 32768 stands for

const range = (count, value) => Float64Array.from({ length: count }, (_, i) => value(i));
const HANNING = range(WINDOW, (i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / (WINDOW - 1)));
const COSINE = range(FFT, (i) => Math.cos((2 * Math.PI * i) / FFT));
const SINE = range(FFT, (i) => Math.sin((2 * Math.PI * i) / FFT));
const FILTERS = melFilters();

/** The samples of a WAV file with 16 bits and one channel. */
export function samplesOf(file) {
  const bytes = new DataView(file);
  let at = 12;
  while (bytes.getUint32(at) !== 0x64617461) at += 8 + bytes.getUint32(at + 4, true); // until "data"
  const count = bytes.getUint32(at + 4, true) / 2;
  return range(count, (i) => (bytes.getInt16(at + 8 + 2 * i, true) / 32768) * FULL_SCALE);
}

/** 49 x 10 integers from one second of sound. */
export function features(sound) {
  const result = new Int8Array(FRAMES * COEFFICIENTS);
  for (let frame = 0; frame < FRAMES; frame++) {
    const windowed = range(WINDOW, (i) => sound[frame * STRIDE + i] * HANNING[i]);
    const power = range(BINS, (bin) => powerAt(windowed, bin));
    const logMel = FILTERS.map((filter) => Math.log(sum(filter, (weight, bin) => weight * power[bin]) + 1e-3));
    for (let order = 0; order < COEFFICIENTS; order++) {
      const cosine = (band) => Math.cos((Math.PI * order * (band + 0.5)) / BANDS) * Math.sqrt(2 / BANDS);
      const value = sum(logMel, (x, band) => x * cosine(band)) * (order ? 8 : 1.5);
      result[frame * COEFFICIENTS + order] = Math.min(127, Math.max(-128, Math.round(value)));
    }
  }
  return result;
}

function powerAt(samples, bin) {
  const real = sum(samples, (x, i) => x * COSINE[(i * bin) % FFT]);
  const imaginary = sum(samples, (x, i) => x * SINE[(i * bin) % FFT]);
  return real * real + imaginary * imaginary;
}

/** Triangles whose centres are evenly spaced in mel, 20 Hz to 4 kHz. */
function melFilters() {
  const [low, high] = [20, 4000].map((frequency) => 1127 * Math.log1p(frequency / 700));
  const corners = range(BANDS + 2, (i) => 700 * Math.expm1((low + ((high - low) * i) / (BANDS + 1)) / 1127));
  return Array.from({ length: BANDS }, (_, band) => {
    const [left, centre, right] = corners.slice(band, band + 3);
    return range(BINS, (bin) => {
      const frequency = (bin * RATE) / FFT;
      return Math.max(0, Math.min((frequency - left) / (centre - left), (right - frequency) / (right - centre)));
    });
  });
}

function sum(values, term) {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += term(values[i], i);
  return total;
}
