/**
 * Additional styles of a pipeline's page: colours of its variants, the tree and the foldable parts.
 */
import { type PipelineVariantKey, variantColors } from "./variant-keys.ts";

export function pipelineStyle(keys: readonly PipelineVariantKey[]): string {
  return `:root{${variantColors(keys, 0)}}
@media screen and (prefers-color-scheme:dark){:root{${variantColors(keys, 1)}}}
${RULES}`;
}

const RULES = `.unused{background:none;color:var(--soft);text-shadow:none;
border:1px solid var(--line)}
tr.none td{color:var(--soft)}
.over{color:var(--limit);font-weight:700}
.tree ul{list-style:none;margin:0 0 0 18px;padding:0}
.tree li{position:relative;padding:14px 0 0 18px;min-width:0}
.tree li::before{content:"";position:absolute;left:0;top:0;bottom:0;
border-left:2px solid var(--line)}
.tree li:last-child::before{bottom:auto;height:34px}
.tree li::after{content:"";position:absolute;left:0;top:34px;width:18px;
border-top:2px solid var(--line)}
.task{position:relative;width:fit-content;max-width:100%;padding:8px 12px;
border:1px solid var(--line);border-radius:8px;background:var(--panel);break-inside:avoid}
.task h3,.task .note{margin:0}
.task table{margin-top:4px}
.task th,.task td{padding:2px 12px 2px 0}
.task tr:last-child td{border-bottom:0}
.task th:last-child,.task td:last-child{padding-right:0}
.requests{font-size:.9rem;border-radius:14px;padding:3px 12px}
.plans details{border-bottom:1px solid var(--line)}
.plans summary{padding:7px 2px;cursor:pointer;font-variant-numeric:tabular-nums}
.plans summary:focus-visible{outline:2px solid var(--accent)}
.plan{display:flex;flex-wrap:wrap;gap:4px 28px;margin-bottom:16px}
.plan>div{min-width:0;max-width:100%}
.words td:nth-child(2),.words th:nth-child(2){text-align:left}
.plan th,.plan td{padding-right:8px}
.plan th[colspan]{padding-top:8px}
#level-table thead tr:first-child th{text-align:center}
#levels h3{margin-top:1.4rem}
.step{white-space:nowrap}
#level-table td:nth-child(2),#level-table thead tr:last-child th:nth-child(2){text-align:left}
@media (max-width:480px){.tree ul{margin-left:6px}.tree li{padding-left:10px}.tree li::after{
width:10px}.task{padding:8px}.task.requests{padding:3px 12px}.task table{font-size:.8rem}.task th{
font-size:.7rem}.task th,.task td{padding-right:6px}}
@media (min-width:760px){.tree.beside{--drop:30px;--bar:15px;--stem:22px}
.tree.beside ul{display:flex;gap:24px;margin:0}
.tree.beside li{padding:var(--drop) 0 0}
.tree.beside li::before,.tree.beside li:last-child::before{left:var(--stem);top:var(--bar);
bottom:auto;height:calc(var(--drop) - var(--bar))}
.tree.beside li:first-child::before{top:0;height:var(--drop)}
.tree.beside li::after{left:var(--stem);top:var(--bar);width:calc(100% + 24px)}
.tree.beside li:last-child::after{display:none}}
@media print{.plans details::details-content{content-visibility:visible;block-size:auto}
.plans summary{list-style:none}.plan{display:block}#level-table,#level-table th{font-size:.66rem}
#level-table th,#level-table td{padding-right:6px}}
`;
