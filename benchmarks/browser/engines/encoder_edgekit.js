// EdgeKit's package of the encoder.
import { createModel } from "package";

export async function load() {
  const model = await createModel({ threads: THREADS });
  const x = model.input.slice().fill(7n);
  return () => {
    model.run(x);
  };
}
