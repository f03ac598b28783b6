// node openskills.mjs FOLDER {dir}: FOLDER holds node_modules/openskills.
// What the command `sync` writes into AGENTS.md is what a model sees, so that is what is read. It looks for skills in .claude/skills of its project.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { installed } from './installed.mjs';

const [folder = '.', skills = '.'] = process.argv.slice(2);
const command = path.join(installed('openskills', folder), 'dist', 'cli.js');
const project = mkdtempSync(path.join(os.tmpdir(), 'openskills-'));
try {
  mkdirSync(path.join(project, '.claude'));
  symlinkSync(path.resolve(skills), path.join(project, '.claude', 'skills'));
  const { status, stderr } = spawnSync(process.execPath, [command, 'sync', '--yes', '--output', 'AGENTS.md'], {
    cwd: project,
    env: { ...process.env, HOME: project },
    encoding: 'utf8',
  });
  process.stderr.write(stderr);
  if (status !== 0) process.exitCode = status ?? 1;
  else {
    const file = path.join(project, 'AGENTS.md');
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const found = [...text.matchAll(/<skill>\s*<name>([^]*?)<\/name>\s*<description>([^]*?)<\/description>\s*<location>/g)];
    process.stdout.write(JSON.stringify(found.map(([, name, description]) => ({ name, description }))));
  }
} finally {
  rmSync(project, { recursive: true, force: true });
}
