import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

/** Gives `work` a temporary folder and removes it. */
export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await realpath(await mkdtemp(path.join(os.tmpdir(), 'pith-bench-')));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

export async function put(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text);
}

const SUBJECTS = ['invoice', 'deploy', 'chart', 'translation', 'backup', 'interview', 'garden', 'budget', 'release', 'survey'];
const DEEDS = ['Prepare', 'Review', 'Summarise', 'Plan', 'Check', 'Convert', 'Compare', 'Draft'];

export function skillText(at: number, extra = ''): string {
  const subject = SUBJECTS[at % SUBJECTS.length]!;
  const deed = DEEDS[at % DEEDS.length]!;
  return `---
name: ${subject}-${at}
description: ${deed} the ${subject} of team ${at}, step by step, and say what is missing. Use for ${subject} questions.${extra}
tags: [${subject}, team-${at % 40}]
version: 1.0.${at % 10}
---

# ${deed} the ${subject}

Read what there is about the ${subject} first. Then write one list of what is done and one of what is open.

${`Each entry names a person, a day and a file; team ${at} keeps them in the order of the days.\n`.repeat(12)}`;
}

/** A sandbox with `count` skills of its own. */
export async function skillSandbox(folder: string, count: number): Promise<string> {
  const sandbox = path.join(folder, `sandbox-${count}`);
  for (let at = 0; at < count; at++) await put(path.join(sandbox, 'skills', `skill-${at}`, 'SKILL.md'), skillText(at));
  return sandbox;
}

/** Files that are younger than the clock's grain are read again: waits until these are not. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2500));
}
