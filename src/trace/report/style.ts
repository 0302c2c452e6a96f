/**
 * The style of report.html. Blue and amber are told apart by all common kinds of colour blindness; every text has a contrast of 4.5
 * or more to its ground, in light and in dark.
 */
export const reportStyle = `
:root {
  color-scheme: light dark;
  --ground: #ffffff; --raised: #f6f7f9; --ink: #1a1d23; --soft: #5a6270; --rule: #dde1e7; --grid: #e8ebef;
  --ideal: #5a6270; --srtf: #0f766e; --fifo: #7c3aed; --rr: #be185d; --cfs: #b45309; --sfs: #1d4ed8; --gittins: #15803d; --limit: #b91c1c; --dot: #64748b; --warn-ground: #fff7e6; --warn-rule: #b45309;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14171c; --raised: #1c2027; --ink: #e6e9ee; --soft: #a3acba; --rule: #333a45; --grid: #262c35;
    --ideal: #a3acba; --srtf: #5eead4; --fifo: #c4b5fd; --rr: #f9a8d4; --cfs: #f5b544; --sfs: #82aaff; --gittins: #86efac; --limit: #ff8a80; --dot: #8b98ab; --warn-ground: #2a2314; --warn-rule: #f5b544;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 2.5rem 1.5rem 4rem; max-width: 58rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif;
}
h1 { margin: 0; font-size: 1.75rem; line-height: 1.2; letter-spacing: -0.01em; }
h2 { margin: 3rem 0 0.5rem; font-size: 1.2rem; line-height: 1.3; }
p { margin: 0.5rem 0; max-width: 44rem; }
.lead { margin-top: 0.5rem; color: var(--soft); }
.soft { color: var(--soft); }
code, .mono { font: 0.86em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { margin: 0.75rem 0; padding: 0.75rem 1rem; overflow-x: auto; background: var(--raised); border: 1px solid var(--rule); border-radius: 6px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(19rem, 1fr)); gap: 0.75rem; margin: 1.75rem 0 0; padding: 0; list-style: none; }
.tiles li { padding: 0.9rem 1rem; background: var(--raised); border: 1px solid var(--rule); border-radius: 8px; }
.tiles b { display: block; font-size: 1.6rem; font-weight: 650; line-height: 1.3; white-space: nowrap; font-variant-numeric: tabular-nums; letter-spacing: -0.01em; }
.tiles span { display: block; font-size: 0.875rem; }
.tiles .soft { margin-top: 0.25rem; font-size: 0.8125rem; line-height: 1.4; }
.warnings { margin: 1.75rem 0 0; padding: 0.75rem 1rem; background: var(--warn-ground); border-left: 4px solid var(--warn-rule); }
.warnings ul { margin: 0.25rem 0 0; padding-left: 1.2rem; }
.scroll { overflow-x: auto; }
table { width: 100%; margin: 0.75rem 0; border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
caption { padding: 0 0 0.25rem; text-align: left; font-size: 0.875rem; color: var(--soft); }
th, td { padding: 0.32rem 0.6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--rule); }
th:first-child, td:first-child { padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
thead th { font-weight: 600; font-size: 0.8125rem; color: var(--soft); vertical-align: bottom; }
tbody th { font-weight: 600; }
th.text, td.text { text-align: left; }
td.wrap { white-space: normal; overflow-wrap: anywhere; }
tbody th.policy { padding-left: 0.6rem; }
th.group { text-align: center; border-bottom-color: var(--soft); }
tbody tr.first th, tbody tr.first td { border-top: 1px solid var(--soft); }
.key { display: inline-block; width: 0.7em; height: 0.7em; margin-right: 0.45em; border-radius: 2px; }
.key.ideal { background: var(--ideal); } .key.srtf { background: var(--srtf); } .key.fifo { background: var(--fifo); } .key.rr { background: var(--rr); } .key.cfs { background: var(--cfs); } .key.sfs { background: var(--sfs); } .key.gittins { background: var(--gittins); }
figure { margin: 0.75rem 0 0; overflow-x: auto; }
figcaption { margin-top: 0.25rem; max-width: 44rem; font-size: 0.875rem; color: var(--soft); }
.chart { display: block; width: 100%; min-width: 34rem; height: auto; font-size: 12px; fill: var(--ink); }
.chart .grid path { stroke: var(--grid); stroke-width: 1; }
.chart .axis { fill: none; stroke: var(--soft); stroke-width: 1; }
.chart .tick text { fill: var(--soft); font-variant-numeric: tabular-nums; }
.chart .label { fill: var(--ink); font-size: 12.5px; }
.chart .note { fill: var(--soft); font-size: 11px; }
.chart .guide { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 4; }
.chart .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.chart .ideal { stroke: var(--ideal); stroke-dasharray: 2 3; }
.chart .srtf { stroke: var(--srtf); stroke-dasharray: 1 3; stroke-linecap: round; }
.chart .fifo { stroke: var(--fifo); stroke-dasharray: 10 3 2 3; }
.chart .rr { stroke: var(--rr); stroke-dasharray: 5 2; }
.chart .cfs { stroke: var(--cfs); stroke-dasharray: 8 3; }
.chart .sfs { stroke: var(--sfs); stroke-width: 2.4; }
.chart .gittins { stroke: var(--gittins); stroke-width: 2.4; stroke-dasharray: 12 3; }
.chart .slice { stroke: var(--sfs); stroke-width: 2.4; }
.chart .limit { stroke: var(--limit); stroke-width: 1.6; stroke-dasharray: 8 3; }
.chart .dots circle { fill: var(--dot); fill-opacity: 0.55; }
.chart .crosses path { fill: none; stroke: var(--limit); stroke-width: 1.8; }
dl { margin: 0.75rem 0; display: grid; grid-template-columns: minmax(8rem, max-content) 1fr; gap: 0.3rem 1.25rem; font-size: 0.9375rem; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 36rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 0.5rem; } }
@media print { body { max-width: none; padding: 0; } h2 { break-after: avoid; } figure, table { break-inside: avoid; } }
`;
