import { describe, expect, it } from 'vitest';
import { boundedResult } from '../../../core/agent/index.ts';
import type { ToolResult } from '../../../core/contract/index.ts';

describe('the size of a tool result', () => {
  it('leaves what has a sane size alone, a part of a long skill file included', () => {
    const result: ToolResult = { ok: true, output: 'x'.repeat(1_100_000), title: 'read' };
    expect(boundedResult(result)).toBe(result);
  });

  it('cuts what is larger to head and tail, says so, and does not keep it', () => {
    const text = boundedResult({ ok: true, output: `begin${'x'.repeat(5_000_000)}end` });
    expect(text).toMatchObject({ ok: true, output: expect.stringMatching(/^begin[^]*characters cut[^]*end$/) });
    expect(JSON.stringify(text).length).toBeLessThan(100_000);
    const list = boundedResult({
      ok: true,
      output: Array.from({ length: 400_000 }, (_, index) => index),
      retain: { key: 'k', digest: 'd' },
    });
    expect(list).toMatchObject({ ok: true, output: expect.stringMatching(/^\[0,1,2[^]*characters cut/), retain: undefined });
  });

  it('cuts endless messages of failures', () => {
    const failed = boundedResult({ ok: false, error: { code: 'not_serialisable', message: `result${'.a'.repeat(100_000)}` } });
    expect(JSON.stringify(failed).length).toBeLessThan(5_000);
    expect(failed).toMatchObject({ ok: false, error: { code: 'not_serialisable' } });
  });
});
