#!/usr/bin/env node
// The command on its own, with the code that `npm run build` makes of this package. It needs Node only.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = new URL('../../../dist/packages/skill-files.js', import.meta.url);

if (existsSync(fileURLToPath(built))) process.exitCode = await main(process.argv.slice(2));
else {
  process.stderr.write('skill-conformance: the package is not built; run `npm run build` in the repository that holds it\n');
  process.exitCode = 1;
}

async function main(words) {
  const { loadConformance } = await import(built.href);
  const { conformanceInput, conformanceUsage, runConformance } = await loadConformance();
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
  if (words[0] === '--help' || words[0] === '-h') {
    process.stdout.write(`${conformanceUsage()}\n`);
    return 0;
  }
  try {
    const input = conformanceInput(words);
    return await runConformance(
      input,
      {
        print: (text) => void process.stdout.write(`${text}\n`),
        json: (value) => void process.stdout.write(`${JSON.stringify(value)}\n`),
        wantsJson: input.options.json === true,
        interactive: process.stdout.isTTY === true,
        columns: process.stdout.columns ?? 0,
        workingDirectory: process.cwd(),
      },
      stop.signal,
    );
  } catch (error) {
    process.stderr.write(`skill-conformance: ${error.message}${error.cure ? `; ${error.cure}` : ''}\n`);
    return 1;
  }
}
