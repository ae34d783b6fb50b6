// EdgeKit's package: a copy into the input, a run, a view of the output.
import { createModel } from "package";

export async function load() {
  const model = await createModel();
  const x = model.input.slice();
  return () => {
    model.run(x);
  };
}
