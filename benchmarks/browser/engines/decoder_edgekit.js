// EdgeKit's package: text in, and pieces of text out. A piece may have to wait for the next token's bytes.
import { createModel } from "package";

export async function load({ text, threads }) {
  const model = await createModel({ threads });
  return (tokens) => {
    const times = [];
    for (const _ of model.generate(text, { tokens })) times.push(performance.now());
    return times;
  };
}
