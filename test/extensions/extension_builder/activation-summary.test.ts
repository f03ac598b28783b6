import { describe, expect, it } from 'vitest';
import { activationSummary, answered, summaryText } from '../../../sandbox/extensions/extension_builder/activation-summary.ts';

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
    expect(text(true)).toContain('\nnetwork: everything this machine can reach, local services and metadata addresses too\n');
    expect(text(false)).toContain('\nnetwork: false\n');
  });

  it('T18 F13: what is no text is refused with its place; an old file that is none is said to be taken out', () => {
    expect(() => activationSummary([], sources({ 'x.ts': Buffer.from('a\0b') }))).toThrow(/'x\.ts' is not text at byte 1/);
    expect(activationSummary(sources({ 'x.bin': Buffer.from([0, 1, 2]) }), []).diff).toMatch(
      /^x\.bin: 3 bytes that are no text are taken out\n/,
    );
  });

  it('K50 refuses what is more than a person can be shown; an answer of a tool is cut and says so', () => {
    expect(() => activationSummary(null, sources({ 'a.ts': 'x'.repeat(1_100_000) }))).toThrow(/a person is shown 1000000 at most/);
    expect(answered(activationSummary(null, sources({ 'a.ts': 'x'.repeat(30_000) }))).diff).toMatch(/more characters$/);
  });
});
