"""The style of the report, and the script that sorts tables."""

from __future__ import annotations

REPORT_STYLE = """
:root { color-scheme: light; --ink: #1b2430; --soft: #5b6675; --line: #dfe4ea; --paper: #ffffff; --ground: #f4f6f8;
  --good: #0b6b4f; --good-ground: #e7f4ef; --plain: #34495e; --plain-ground: #edf1f5; --bad: #a33a12; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
  font-size: 15px; }
main { max-width: 1080px; margin: 0 auto; padding: 28px 24px 64px; }
header p { margin: 0; color: var(--soft); }
.kind { text-transform: uppercase; letter-spacing: .08em; font-size: 12px; font-weight: 600; }
h1 { font-size: 26px; margin: 2px 0 4px; line-height: 1.2; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 40px 0 6px; }
h3 { font-size: 15px; margin: 0 0 2px; }
section > p { margin: 4px 0 12px; color: var(--soft); max-width: 75ch; }
.verdict { margin-top: 18px; padding: 22px 26px; background: var(--plain-ground); border-left: 6px solid var(--plain);
  border-radius: 8px; }
.verdict.measured { background: var(--good-ground); border-color: var(--good); }
.verdict .headline { font-size: 22px; line-height: 1.35; font-weight: 600; margin: 0; overflow-wrap: anywhere; }
.verdict ul { margin: 12px 0 0; padding-left: 20px; }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin-top: 18px; }
.tile { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 10px 16px;
  flex: 1 1 190px; }
.tile b { display: block; font-size: 25px; line-height: 1.25; font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: 13px; }
.card { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 14px 16px;
  margin-top: 12px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 10px; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th.text, td.text { text-align: left; overflow-wrap: anywhere; min-width: 9em; }
thead th { border-bottom: 2px solid var(--ink); vertical-align: bottom; }
tr.chosen td { background: var(--good-ground); }
tr.control td, tr.bound td { color: var(--soft); font-style: italic; }
th button { font: inherit; font-weight: 600; background: none; border: 0; padding: 0; color: inherit; cursor: pointer;
  text-align: inherit; }
th button::after { content: "\\2195"; color: #a5afba; padding-left: 4px; font-size: 12px; }
th[aria-sort="ascending"] button::after { content: "\\2191"; color: var(--ink); }
th[aria-sort="descending"] button::after { content: "\\2193"; color: var(--ink); }
.small { color: var(--soft); font-size: 12.5px; white-space: nowrap; }
.badge { display: inline-block; border: 1px solid var(--line); border-radius: 10px; padding: 0 8px; font-size: 12px;
  color: var(--soft); background: var(--paper); white-space: nowrap; font-style: normal; }
.good { color: var(--good); font-weight: 600; } .bad { color: var(--bad); }
figure { margin: 0; } figure img { max-width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); margin: 0 0 10px; }
pre { background: #1b2430; color: #f2f5f8; padding: 12px 16px; border-radius: 8px; overflow-x: auto;
  font-size: 13.5px; }
summary { cursor: pointer; font-weight: 600; }
@media print { body { background: #fff; font-size: 12px; } main { max-width: none; padding: 0; }
  .card, figure, tr { break-inside: avoid; } th button::after { content: ""; }
  pre { color: #000; background: #f4f4f4; } }
"""

SCRIPT = """
"use strict";
for (const table of document.querySelectorAll("table.sorts")) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    const value = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
    const order = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      const numbers = Number.isFinite(Number(x)) && Number.isFinite(Number(y));
      return (up ? 1 : -1) * (numbers ? Number(x) - Number(y) : x.localeCompare(y, "en", { numeric: true }));
    };
    for (const body of table.tBodies) body.append(...Array.from(body.rows).sort(order));
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
  }));
}
"""
