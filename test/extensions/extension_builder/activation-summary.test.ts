import { describe, expect, it } from 'vitest';
import {
  activationSummary,
  answered,
  enforcedText,
  summaryText,
} from '../../../sandbox/extensions/extension_builder/activation-summary.ts';

const MANIFEST = `id: it
entrypoint: entry.ts
commands: [{ path: it go }]
models: [{ prefix: mine }]
events: { publishes: [notify], handles: [{ topic: user.message, handler: told }] }
schedules: [{ name: daily, cron: "0 9 * * *", handler: told }]
`;
const sources = (files: Readonly<Record<string, string | Buffer>>) =>
  Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) }));

describe('what a person reads before an activation', () => {
  it('K50 no padding hides the manifest and the entrypoint, and nothing is cut', () => {
    const padding = '// harmless\n'.repeat(5000);
    const files = sources({ 'a.ts': padding, 'entry.ts': 'evil();\n', 'manifest.yaml': MANIFEST, 'z.ts': 'last();\n' });
    const text = summaryText(activationSummary(null, files), []);
    const places = ['+++ b/manifest.yaml', '+++ b/entry.ts', '+++ b/a.ts', '+++ b/z.ts'].map((each) => text.indexOf(each));
    expect(places.every((place, index) => place > (places[index - 1] ?? 0))).toBe(true);
    expect(text).toContain('+last();');
  });

  it('K50 names commands, models, events and schedules', () => {
    const text = summaryText(activationSummary(null, sources({ 'manifest.yaml': MANIFEST })), []);
    expect(text).toMatch(
      /commands: it go\nmodels: mine\nevents_published: notify\nevents_handled: user\.message\nschedules: daily \(0 9 \* \* \*\)/,
    );
  });

  it('T17 says what network means', () => {
    const manifest = (network: boolean) => `id: it\nentrypoint: main.ts\npermissions: { network: ${network} }\n`;
    const text = (network: boolean) => summaryText(activationSummary(null, sources({ 'manifest.yaml': manifest(network) })), []);
    expect(text(true)).toContain('network: everything this machine can reach, local services and metadata addresses too\n');
    expect(text(false)).not.toMatch(/^network/mu);
  });

  it('U11 the code comes before settings of "none", and what nothing enforces is not shown as if it held', () => {
    const manifest = 'id: it\nentrypoint: main.ts\nsecrets: [KEY]\npermissions: { network: false, read: [notes], write: [] }\n';
    const summary = activationSummary(null, sources({ 'manifest.yaml': manifest, 'main.ts': 'go();\n' }));
    expect(summaryText(summary, ['main'], true)).toMatch(
      /^secrets: KEY\nreads: notes\nagents whose uses_tools will name it: main\n\n(?:=+\n)?--- \/dev\/null\n\+\+\+ b\/manifest.yaml/u,
    );
    const open = summaryText(summary, [], false);
    expect(open).toMatch(/^network and files: not limited here, whatever its manifest says\nsecrets: KEY\n\n/u);
    expect(open).not.toMatch(/^(?:reads|network|writes): (?!not)/mu);
    expect(open).not.toContain('none');
    expect([enforcedText(summary, true), enforcedText(summary, false)]).toEqual([
      'sandboxed: no network, reads the project, writes only its own data',
      'not sandboxed: sees what you see',
    ]);
  });

  it('T18 F13: what is no text is refused with its place; an old file that is none is said to be taken out', () => {
    expect(() => activationSummary([], sources({ 'x.ts': Buffer.from('a\0b') }))).toThrow(/'x\.ts' is not text at byte 1/);
    expect(activationSummary(sources({ 'x.bin': Buffer.from([0, 1, 2]) }), []).diff).toMatch(
      /^x\.bin: 3 bytes that are not text are taken out\n/,
    );
  });

  it('K50 refuses what is more than a person can be shown; an answer of a tool is cut and says so', () => {
    expect(() => activationSummary(null, sources({ 'a.ts': 'x'.repeat(1_100_000) }))).toThrow(/a person is shown 1000000 at most/);
    expect(answered(activationSummary(null, sources({ 'a.ts': 'x'.repeat(30_000) }))).diff).toMatch(/more characters$/);
  });
});
