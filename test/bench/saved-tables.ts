/** A page with one table for each group of figures, between two comments. */
export function withTable(page: string, group: string, table: string): string {
  const [open, close] = [`<!-- bench ${group} -->`, '<!-- /bench -->'];
  const from = page.indexOf(open);
  if (from === -1) throw new Error(`docs/benchmarks.md has no '${open}'`);
  const to = page.indexOf(close, from);
  if (to === -1) throw new Error(`docs/benchmarks.md does not close '${open}'`);
  return `${page.slice(0, from)}${open}\n\n${table.trim()}\n\n${page.slice(to)}`;
}
