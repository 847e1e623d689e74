/** A bundle of fixed as one page: its levels. */
import type { FixedBundle } from "stratagem-runtime/internal/bundle/schema";
import { html } from "../../../report/markup.ts";
import { decimalText, ratioText } from "../../../report/number-text.ts";
import { renderPage } from "../../../report/page.ts";

export function renderFixedReport({ application, levels, tasks, slo }: FixedBundle): string {
  const rows = levels.map(
    ({ loadQps, batch, expected }) =>
      html`<tr><td>${decimalText(loadQps)}</td><td>${batch}</td>
<td>${ratioText(expected.violationRate)}</td></tr>`,
  );
  return renderPage({
    title: application,
    subtitle: "Stratagem report of one variant",
    lead: `Always ${tasks[0]?.variants[0]?.name ?? ""}, within ${decimalText(slo.latencyMs)} ms.`,
    facts: html``,
    sections: [
      {
        id: "levels",
        heading: "All levels",
        body: html`<table id="level-table">
<thead><tr><th>load</th><th>batch</th><th>late</th></tr></thead>
<tbody>${rows}</tbody></table>`,
      },
    ],
    footer: "A toy.",
    variantCount: 0,
  });
}
