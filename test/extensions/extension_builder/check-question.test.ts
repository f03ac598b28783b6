import { describe, expect, it } from 'vitest';
import { TURN } from '../../fixtures/agent-spec.ts';
import { askedTools } from '../asked-tools.ts';
import { bench, CITY_TIME, type Bench } from './bench.ts';

describe('check_extension where nothing confines', () => {
  let made: Bench;

  /** What the gate would show a person of that conversation; false: it asks nothing. */
  const question = (id: string, threadId: string) =>
    made.test.kernel.host.providers.tools.needsApproval('extension_builder', 'check_extension', { id }, { ...TURN, threadId });
  const check = (id: string, threadId: string) =>
    askedTools(made.test, 'extension_builder', { ...TURN, threadId }).approved('check_extension', { id });

  it('T13 F3: asks before it runs anything, once for each conversation and extension', async () => {
    made = await bench({ files: { 'pith.yaml': 'extensions_sandbox: off\n' } });
    for (const id of ['first', 'second']) await made.stage(id, { 'manifest.yaml': `id: ${id}\n`, 'main.ts': CITY_TIME['main.ts'] });
    expect(await question('first', 'a')).toMatch(/runs the code and the tests in .*first as you, .*because nothing confines it here/);
    expect(await question('first', 'a')).toMatch(/as you/); // a question is no answer
    expect(await check('first', 'a')).toMatchObject({ ok: true });
    expect(await question('first', 'a')).toBe(false);
    expect(await question('second', 'a')).toMatch(/second as you/);
    expect(await question('first', 'b')).toMatch(/first as you/);
    await made.test.remove('.staging/extensions/first'); // an answer holds, whatever the check then says
    expect(await check('first', 'b')).toMatchObject({ ok: false });
    expect(await question('first', 'b')).toBe(false);
    expect(await question('second', 'b')).toMatch(/second as you/);
  });
});
