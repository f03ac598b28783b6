import { readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { askerOf, concerns, createSecrets, openSecretsFile, recipientOf } from '../../../core/trust/index.ts';
import type { Declaration } from '../../../core/declarations/index.ts';
import { folderWith } from '../../places.ts';

const declaration = (id: string, prefixes: readonly string[] = [], secrets: readonly string[] = ['KEY']) =>
  ({ id, manifest: { secrets, models: prefixes.map((prefix) => ({ prefix })) } }) as unknown as Declaration;
const models = declaration('many_models', ['openai', 'ollama']);
const openai = (to: string, isDefault = false) => ({ part: 'openai', to, isDefault });
/** A secret that was kept for these, as this one gets it. */
const asked = (recipients: readonly string[], asker: ReturnType<typeof askerOf>) =>
  createSecrets({}, fileOf({ KEY: { value: 'v', for: recipients } })).get('KEY', asker);
function given(recipients: readonly string[], asker: ReturnType<typeof askerOf>): boolean {
  try {
    return asked(recipients, asker) === 'v';
  } catch {
    return false; // refused
  }
}

function fileOf(content: unknown) {
  return openSecretsFile(folderWith({ '.pith/secrets.json': typeof content === 'string' ? content : JSON.stringify(content) }));
}

describe('who asks for a secret', () => {
  it('T5 is a provider with the origin of its address, a part with its command, or an extension', () => {
    const recipient = (from: Declaration, shipped: boolean, use?: Parameters<typeof askerOf>[3]) =>
      askerOf(from, shipped, 'KEY', use).recipient;
    expect(recipient(models, true, openai('https://API.openai.com:443/v1/?a#b'))).toBe('provider:openai https://api.openai.com');
    expect(recipient(models, true, openai('http://127.0.0.1:1234/v1'))).toBe('provider:openai http://127.0.0.1:1234');
    expect(recipient(declaration('servers'), true, { part: 'files', to: 'npx -y server .' })).toBe('servers:files npx -y server .');
    expect(recipient(declaration('vectors'), true, { to: 'https://a.example/v1' })).toBe('extension:vectors https://a.example');
    expect(recipient(declaration('weather'), true)).toBe('extension:weather');
    expect(recipient(declaration('servers'), true, { part: 'x', to: 'a\u001b[2Jb\nc' })).not.toMatch(/\p{C}/u);
  });

  it('T5 F2 code that did not come with Pith is only itself, whatever prefix or part it claims', () => {
    const thief = declaration('thief', ['openai']);
    expect(askerOf(thief, false, 'KEY', openai('https://api.openai.com', true))).toEqual({
      recipient: 'extension:thief https://api.openai.com',
      isDefault: false,
    });
    expect(
      given(['provider:openai https://api.openai.com', 'usual'], askerOf(thief, false, 'KEY', openai('https://api.openai.com', true))),
    ).toBe(false);
    for (const one of ['provider:openai https://api.openai.com', 'usual', 'extension:many_models', 'thief:openai x', 'extension:thief2'])
      expect([one, concerns(one, thief, false)]).toEqual([one, false]);
    for (const one of ['extension:thief', 'extension:thief https://a.example']) expect(concerns(one, thief, false)).toBe(true);
  });

  it('T5 gets what was given for it there, and nothing else', () => {
    const asker = askerOf(models, true, 'KEY', openai('https://api.openai.com/v1'));
    expect(given(['provider:openai https://api.openai.com'], asker)).toBe(true);
    for (const other of [
      'provider:openai http://api.openai.com',
      'provider:openai https://api.openai.com:8443',
      'provider:openai https://api.openai.com.evil.example',
      'provider:openai',
      'provider:ollama https://api.openai.com',
      'extension:many_models',
      'usual',
    ])
      expect([other, given([other], asker)]).toEqual([other, false]);
    const vectors = askerOf(declaration('vectors'), true, 'KEY', { to: 'https://a.example' });
    expect([given(['extension:vectors'], vectors), given(['extension:vectors https://b.example'], vectors)]).toEqual([true, false]);
    expect(given(['extension:vectors https://a.example'], askerOf(declaration('vectors'), true, 'KEY'))).toBe(false);
  });

  it('T5 is named by a person as it is named in messages', () => {
    expect(recipientOf(' provider:openai   https://api.openai.com/v1 ')).toBe('provider:openai https://api.openai.com');
    expect(recipientOf('extension:weather')).toBe('extension:weather');
    expect(recipientOf("mcp:files npx -y 'a b'")).toBe("mcp:files npx -y 'a b'");
    for (const wrong of ['', 'openai', 'provider:openai', 'mcp:files', 'usual', 'extension:', 'https://api.openai.com'])
      expect(() => recipientOf(wrong), wrong).toThrow('is not a recipient of secrets');
    expect(() => asked(['extension:weather'], { recipient: "mcp:files it's", isDefault: false })).toThrow(
      expect.objectContaining({
        code: 'secret_not_given',
        message: "the secret 'KEY' was given for extension:weather, and not for mcp:files it's, which asks for it",
        cure: String.raw`if that is right, run: pith secrets allow KEY --for 'mcp:files it'\''s'`,
      }),
    );
  });
});

describe('the file of secrets', () => {
  it('T5 a plain text from before counts for the default addresses of what ships, and nowhere else', () => {
    const secrets = createSecrets({}, fileOf({ KEY: 'from-before', OTHER: 'x' }));
    expect(secrets.get('KEY', askerOf(models, true, 'KEY', openai('https://api.openai.com', true)))).toBe('from-before');
    expect(secrets.get('KEY', askerOf(models, true, 'KEY'))).toBe('from-before');
    const refused = (name: string, shipped: boolean, to: string, usual: boolean) =>
      expect(() => secrets.get(name, askerOf(models, shipped, name, openai(to, usual)))).toThrow('was given for the default addresses');
    refused('KEY', true, 'http://evil.example', false);
    refused('KEY', false, 'https://api.openai.com', true);
    refused('OTHER', true, 'https://api.openai.com', true); // the settings name it, not its manifest
  });

  it('T5 keeps whom a secret was given for, beside others from before, and reads no nonsense', () => {
    const file = fileOf({
      KEY: 'from-before',
      A: 1,
      B: { value: 2 },
      C: { value: 'c', for: 'x' },
      D: { value: 'd', for: ['extension:d', 7] },
      __proto__: 'p',
    });
    expect(file.all()).toEqual({
      KEY: [{ value: 'from-before', for: ['usual'] }],
      C: [{ value: 'c', for: [] }],
      D: [{ value: 'd', for: ['extension:d'] }],
    });
    file.keep('NEW', { value: 'n', for: ['extension:weather'] });
    expect(JSON.parse(readFileSync(file.file, 'utf8'))).toMatchObject({
      KEY: { value: 'from-before', for: ['usual'] },
      NEW: { value: 'n', for: ['extension:weather'] },
    });
    expect(statSync(file.file).mode & 0o777).toBe(0o600);
    expect([file.get('constructor'), file.get('toString')]).toEqual([[], []]);
  });

  it('T5 the environment wins and has no recipients; what is kept for others stays hidden in texts', () => {
    const file = fileOf({ KEY: { value: 'kept-for-another', for: ['extension:other'] } });
    const asker = askerOf(declaration('weather'), false, 'KEY');
    expect(createSecrets({ KEY: 'of-the-environment' }, file).get('KEY', asker)).toBe('of-the-environment');
    const secrets = createSecrets({}, file);
    secrets.declare(['KEY']);
    expect(() => secrets.get('KEY', asker)).toThrow('was given for extension:other, and not for extension:weather');
    expect(secrets.redact('it is kept-for-another')).toBe('it is [secret KEY]');
    expect(secrets.share('KEY', (one) => concerns(one, declaration('weather'), false))).toEqual([
      { value: null, for: ['extension:other'] },
    ]);
    expect(secrets.share('KEY', (one) => concerns(one, declaration('other'), false))).toEqual([
      { value: 'kept-for-another', for: ['extension:other'] },
    ]);
    expect(secrets.share('NONE', () => true)).toEqual([]);
  });

  it('U-2 keeps a value for each recipient beside those of others, none where none is needed, and loses nothing', () => {
    const file = fileOf({ KEY: 'from-before' });
    const [first, second, third] = ['https://api.openai.com', 'http://127.0.0.1:1', 'http://127.0.0.1:2'].map((to) => ({
      to,
      who: `provider:openai ${to}`,
    }));
    const ask = (to = '') => createSecrets({}, file).get('KEY', askerOf(models, true, 'KEY', openai(to, to === first?.to)));
    expect(ask(first?.to)).toBe('from-before');
    file.keep('KEY', { value: 'one', for: [second!.who] });
    file.keep('KEY', { value: '', for: [third!.who] });
    expect([ask(first?.to), ask(second?.to), ask(third?.to)]).toEqual(['from-before', 'one', null]);
    expect(JSON.parse(readFileSync(file.file, 'utf8'))['KEY']).toHaveLength(3);
    expect(() => ask('http://127.0.0.1:3')).toThrow(
      `was given for the default addresses of what ships with Pith, ${second?.who}, and not for`,
    );
    file.keep('KEY', { value: 'one', for: [third!.who] });
    expect(file.get('KEY')).toEqual([
      { value: 'from-before', for: ['usual'] },
      { value: 'one', for: [second?.who, third?.who] },
    ]);
    file.keep('KEY', { value: 'two', for: [second!.who] });
    expect([ask(second?.to), ask(third?.to)]).toEqual(['two', 'one']);
    file.remove('KEY', [second!.who, third!.who]);
    expect(JSON.parse(readFileSync(file.file, 'utf8'))).toEqual({ version: 1, KEY: { value: 'from-before', for: ['usual'] } });
    expect(createSecrets({}, fileOf({ KEY: { value: '', for: [second?.who] } })).isSet('KEY')).toBe(false);
  });

  it('U-2 a value that would make the file too large to be read again is refused, and the others stay', () => {
    const file = fileOf({ KEY: { value: 'one', for: [] } });
    expect(() => file.keep('LONG', { value: 'x'.repeat(5 * 1024 * 1024), for: [] })).toThrow('more than 4.0 MB');
    expect([file.get('KEY'), file.problem()]).toEqual([[{ value: 'one', for: [] }], null]);
  });
});
