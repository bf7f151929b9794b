// Files of tensors: what is in them and how it is spread.
import { useState } from "preact/hooks";
import { bytes, short, useAsk } from "./util";

interface About {
  name: string; type: string; bytes: number; min: number | null; max: number | null; mean: number | null; deviation: number | null;
  not_finite: number; zeros: number; looked_at: number; n: number; bars: number[];
}

export function Tensors({ files }: { files: string[] }) {
  const [chosen, choose] = useState("");
  const [words, search] = useState("");
  const file = files.includes(chosen) ? chosen : files[0];
  const { data, error } = useAsk<About[]>("tensors", { tensors: file }, [file]);
  const shown = (data ?? []).filter((tensor) => `${tensor.name} ${tensor.type}`.toLowerCase().includes(words.toLowerCase()));
  const sum = shown.reduce((all, tensor) => all + tensor.bytes, 0);
  return (
    <div class="main wide">
      <div class="tools">
        <select aria-label="File" value={file} onChange={(e) => choose(e.currentTarget.value)}>{files.map((name) => <option>{name}</option>)}</select>
        <input type="search" class="find" placeholder="Filter names and types (/)" aria-label="Filter tensors" value={words} onInput={(e) => search(e.currentTarget.value)} />
        <span class="faint">{shown.length} tensors, {bytes(sum)}</span>
      </div>
      {error && <p class="fault">{error}</p>}
      <article class="card"><div class="scroll"><table class="data tensors">
        <thead><tr><th>name</th><th>type</th><th class="number">bytes</th><th>spread</th>{["least", "mean", "deviation", "largest", "zeros"].map((name) => <th class="number">{name}</th>)}</tr></thead>
        <tbody>{shown.map((tensor) => {
          const most = Math.max(...tensor.bars, 1);
          return (
            <tr class={tensor.not_finite ? "bad" : ""}>
              <td><b>{tensor.name || "(the tensor)"}</b>{tensor.not_finite > 0 && <span class="chip">{tensor.not_finite} not finite</span>}</td>
              <td><code>{tensor.type}</code></td><td class="number">{bytes(tensor.bytes)}</td>
              <td><svg width="124" height="26" role="img" aria-label={`from ${short(tensor.min)} to ${short(tensor.max)}`}>
                {tensor.bars.map((n, i) => <rect x={i * 3.1} width="2.6" y={26 - Math.max(n ? 1 : 0, (n / most) * 25)} height={(n / most) * 25 + 1} class="bar" />)}
              </svg></td>
              <td class="number">{short(tensor.min)}</td><td class="number">{short(tensor.mean)}</td><td class="number">{short(tensor.deviation)}</td><td class="number">{short(tensor.max)}</td>
              <td class="number">{tensor.looked_at ? `${((100 * tensor.zeros) / tensor.looked_at).toFixed(1)} %` : "–"}</td>
            </tr>
          );
        })}</tbody>
      </table></div></article>
    </div>
  );
}
