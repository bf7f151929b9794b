// Trains two weights by steps of a program, keeps its states in a file and reads them again, through the C interface:
// node step.mjs LIBRARY PROGRAM FILE.

import koffi from "koffi";

const [path, program, file] = process.argv.slice(2);
const library = koffi.load(path);

koffi.opaque("fluvial_program");
koffi.struct("fluvial_view", {
  dtype: "int32_t",
  rank: "int32_t",
  dims: koffi.array("int64_t", 8),
  data: "const void *",
});
const F64 = 8;

const load = library.func("fluvial_program *fluvial_load(const char *path)");
const free = library.func("void fluvial_free(fluvial_program *program)");
const feed = library.func("int32_t fluvial_feed(const fluvial_program *program, const char *name, const fluvial_view *view)");
const run = library.func("int32_t fluvial_run(const fluvial_program *program)");
const outputName = library.func("const char *fluvial_output_name(const fluvial_program *program, int32_t number)");
const output = library.func(
  "int32_t fluvial_output(const fluvial_program *program, const char *name, _Out_ fluvial_view *view)",
);
const state = library.func("int32_t fluvial_state(const fluvial_program *program, const char *name, _Out_ fluvial_view *view)");
const saveStates = library.func("int32_t fluvial_save_states(const fluvial_program *program, const char *path)");
const loadStates = library.func("int32_t fluvial_load_states(const fluvial_program *program, const char *path)");
const lastError = library.func("const char *fluvial_error(void)");

/** Throws what the library says, if a call has failed. */
function check(failed) {
  if (failed) throw new Error(lastError());
}

function opened(path) {
  const found = load(path);
  check(found === null);
  return found;
}

function fed(to, name, numbers, sizes) {
  const dims = [...sizes, ...Array(8 - sizes.length).fill(0)];
  check(feed(to, name, { dtype: F64, rank: sizes.length, dims, data: Float64Array.from(numbers) }));
}

function numbers(view) {
  const count = view.dims.slice(0, view.rank).reduce((all, size) => all * Number(size), 1);
  return koffi.decode(view.data, koffi.array("double", count));
}

const model = opened(program);
let told = "";
try {
  fed(model, "no such input", [1], [1]);
} catch (error) {
  told = error.message;
}
if (!told.includes("no such input")) throw new Error(`a wrong name is not told: ${told}`);
fed(model, "x", [1, 0, 0, 1, 1, 1], [3, 2]);
fed(model, "y", [1, 3, 4], [3, 1]);
for (let step = 0; step < 400; step++) check(run(model));
const loss = {};
check(output(model, outputName(model, 0), loss));
const [lossNumber] = numbers(loss);
check(saveStates(model, file));
const again = opened(program);
check(loadStates(again, file));
const w = {};
check(state(again, "w", w));
const [first, second] = numbers(w);
console.log(`loss ${lossNumber.toFixed(4)} w ${first.toFixed(2)} ${second.toFixed(2)}`);
free(again);
free(model);
