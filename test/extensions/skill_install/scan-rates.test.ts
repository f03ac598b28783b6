import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { inspectSkill, scanText } from '../../../sandbox/extensions/skill_install/safety/inspection.ts';
import { type ScanSample, scanSamples } from '../../fixtures/scan-samples.ts';
import { skillSandbox } from '../skill_registry/skill-sandbox.ts';

const CORPUS = path.resolve(import.meta.dirname, '../../../../shared/corpus/skills.jsonl');
const HOSTILE = scanSamples('hostile');
const BENIGN = scanSamples('benign');

describe('the scan of labelled samples (S84)', () => {
  const report: string[] = [];
  afterAll(() => {
    console.log(report.join('\n'));
  });

  it('S84 there are enough samples, a third of them held apart', () => {
    expect(HOSTILE.length).toBeGreaterThanOrEqual(45);
    expect(BENIGN.length).toBeGreaterThanOrEqual(70);
    for (const samples of [HOSTILE, BENIGN]) expect(heldOf(samples).length).toBe(Math.floor(samples.length / 3));
  });

  it('S84 says high for nine of ten hostile samples and for one of fifty benign ones', async () => {
    const found = await worstOf(HOSTILE);
    const alarms = await worstOf(BENIGN);
    const missed = (samples: readonly ScanSample[]) => samples.filter((sample) => found.get(sample)?.severity !== 'high');
    const alarmed = (samples: readonly ScanSample[]) => samples.filter((sample) => alarms.get(sample)?.severity === 'high');
    for (const [what, hostile, benign] of [
      ['all', HOSTILE, BENIGN],
      ['held', heldOf(HOSTILE), heldOf(BENIGN)],
    ] as const) {
      const caught = hostile.length - missed(hostile).length;
      const falseAlarms = alarmed(benign).length;
      report.push(
        `${what}: ${caught} of ${hostile.length} hostile and ${falseAlarms} of ${benign.length} benign are high; ` +
          `precision ${(caught / (caught + falseAlarms)).toFixed(3)}, recall ${(caught / hostile.length).toFixed(3)}`,
      );
    }
    for (const sample of missed(HOSTILE)) report.push(`missed${mark(sample)}: ${sample.name}`);
    for (const sample of alarmed(BENIGN)) report.push(`false alarm${mark(sample)}: ${sample.name} (${alarms.get(sample)!.told})`);
    expect(missed(HOSTILE).length / HOSTILE.length).toBeLessThanOrEqual(0.1);
    expect(alarmed(BENIGN).length / BENIGN.length).toBeLessThanOrEqual(0.02);
    expect(missed(heldOf(HOSTILE)).length / heldOf(HOSTILE).length).toBeLessThanOrEqual(0.1);
    expect(alarmed(heldOf(BENIGN)).length / heldOf(BENIGN).length).toBeLessThanOrEqual(0.02);
  });

  it.each(BENIGN.filter(({ expected, held }) => expected !== undefined && !held))('S84 says $expected of $name', async (sample) => {
    const worst = (await worstOf([sample])).get(sample);
    expect(worst?.severity ?? 'none', worst?.told).toBe(sample.expected);
  });

  it.skipIf(!existsSync(CORPUS))('S84 says high of at most one real skill', () => {
    const real = readFileSync(CORPUS, 'utf8').trim().split('\n');
    const high = real
      .map((line) => JSON.parse(line) as { path: string; text: string })
      .flatMap((skill) => scanText('SKILL.md', skill.text).map((finding) => ({ skill: skill.path, ...finding })))
      .filter(({ severity }) => severity === 'high');
    expect(new Set(high.map(({ skill }) => skill)).size, JSON.stringify(high)).toBeLessThanOrEqual(1);
  });
});

function heldOf(samples: readonly ScanSample[]): readonly ScanSample[] {
  return samples.filter(({ held }) => held);
}

function mark({ held }: ScanSample): string {
  return held ? ' (held)' : '';
}

/** The worst finding of each sample, which is written to a folder as an installation would. */
async function worstOf(
  samples: readonly ScanSample[],
): Promise<ReadonlyMap<ScanSample, { readonly severity: string; readonly told: string }>> {
  const written = samples.flatMap(({ files }, at) =>
    Object.entries(files).map(([name, text]) => [`sandbox/skills/s${at}/${name}`, text] as const),
  );
  const box = await skillSandbox(Object.fromEntries(written));
  const worst = new Map<ScanSample, { severity: string; told: string }>();
  for (const [at, sample] of samples.entries()) {
    const [first] = (await inspectSkill(path.join(box.sandbox, `skills/s${at}`))).findings;
    if (first !== undefined) worst.set(sample, { severity: first.severity, told: `${first.code}, ${first.message}` });
  }
  return worst;
}
