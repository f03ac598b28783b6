/** Added lines that seldom belong into a skill. */
const RULES: readonly { readonly pattern: RegExp; readonly says: string }[] = [
  {
    pattern:
      /command not found|no such file or directory|permission denied|ENOENT|EACCES|ECONNREFUSED|is not installed (?:here|on this)|on this machine|not recognized as an internal/iu,
    says: 'tells of a failure of this machine, which others do not have',
  },
  {
    pattern:
      /\b(?:yesterday|today|last (?:week|night|time)|this (?:morning|session|conversation)|earlier (?:today|in this)|the user (?:said|asked|wanted)|I (?:tried|noticed|ran|saw)|we (?:tried|noticed))\b/iu,
    says: 'tells what happened once; say what to do in general',
  },
  { pattern: /(?<![\w/-])[A-Z][A-Z0-9]{1,9}-\d{1,6}(?![\w-])/u, says: 'names a ticket, which says nothing to others' },
  { pattern: /(?:^|[\s"'`(])(?:\/home\/|\/Users\/|[A-Z]:\\Users\\)[\w.-]+/u, says: "has a path of one person's machine" },
];

/** Names of standards that look like tickets. */
const STANDARDS = /^(?:UTF|ISO|RFC|SHA|MD|AES|RSA|CVE|HTTP|IEEE|ANSI|PEP|ADR|GPT|BCP|ASCII|IPV|RS)-/u;

/** What to look at in the lines that a diff adds, as `path: line …`. Advice: each rule is named once for each file. */
export function lintOfDiff(diff: string): readonly string[] {
  const found: string[] = [];
  let file = '';
  for (const line of diff.split('\n')) {
    if (line.startsWith('+++ ')) file = line.slice('+++ b/'.length);
    else if (line.startsWith('+')) {
      for (const { pattern, says } of RULES) {
        const match = pattern.exec(line.slice(1))?.[0].trim();
        if (match === undefined || STANDARDS.test(match)) continue;
        const message = `${file} ${says}: '${match}'`;
        if (!found.includes(message)) found.push(message);
      }
    }
  }
  return found;
}
