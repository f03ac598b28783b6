import { PithError, type LanguageModel, type ModelInfo } from 'pith';
import { describe, expect, it, vi } from 'vitest';
import { createRouter } from '../../../core/models/index.ts';
import type { DeclaredModel } from '../../../core/kernel/index.ts';
import { modelOf } from './scripted-stream.ts';

const usual = { shipped: true, when_env: [], when_local: false };
const cloud: DeclaredModel = { ...usual, extensionId: 'cloud', prefix: 'cloud', when_env: ['CLOUD_KEY'], rank: 30, default: 'big' };
const pair: DeclaredModel = { ...usual, extensionId: 'pair', prefix: 'pair', when_env: ['PAIR_ID', 'PAIR_KEY'], rank: 40, default: 'two' };
const local: DeclaredModel = { ...usual, extensionId: 'local', prefix: 'local', when_local: true, rank: 20 };
const last: DeclaredModel = { ...usual, extensionId: 'last', prefix: 'last', rank: 0, default: 'resort' };
const lower: DeclaredModel = { ...usual, extensionId: 'lower', prefix: 'lower', rank: -1, default: 'lowest' };

interface Given {
  readonly models?: Record<string, string>;
  readonly env?: Record<string, string>;
  readonly declared?: DeclaredModel[];
  /** The local servers that are found. */
  readonly servers?: Record<string, string>;
  readonly listed?: string[];
  /** Names of variables that are kept secrets. */
  readonly kept?: readonly string[];
}

function setup({
  models = {},
  env = {},
  declared = [last, cloud, local, pair],
  servers = {},
  listed = ['first', 'second'],
  kept = [],
}: Given = {}) {
  const getModel = vi.fn(async (name: string, prefix: string): Promise<{ model: LanguageModel; contextWindow: number | null }> => ({
    model: { ...modelOf(), provider: prefix, modelId: name },
    contextWindow: 1_000,
  }));
  const provider = vi.fn(async () => ({
    models: async (): Promise<ModelInfo[]> => listed.map((name) => ({ name, contextWindow: null })),
    findLocal: async (prefix: string) => servers[prefix] ?? null,
    getModel,
  }));
  const settings = { models };
  const router = createRouter({ settings, env, declared: () => declared, isKept: (name) => kept.includes(name), provider });
  return { router, provider, getModel, settings };
}

describe('the model that default means', () => {
  it('T5 a kept key that was given for another address counts for nothing, and is said', async () => {
    const { router, getModel } = setup({ env: { CLOUD_KEY: 'k' }, kept: ['CLOUD_KEY'] });
    getModel.mockRejectedValue(new PithError('secret_not_given', "the secret 'CLOUD_KEY' was given for another address"));
    expect(await router.choose()).toEqual({
      ref: 'last/resort',
      why: "no model is set up; the secret 'CLOUD_KEY' was given for another address",
    });
    expect(await setup({ env: { CLOUD_KEY: 'k' }, kept: ['CLOUD_KEY'] }).router.choose()).toMatchObject({ ref: 'cloud/big' });
  });

  it.each<[string, Given, string, RegExp]>([
    [
      'PITH_MODEL before all',
      { env: { PITH_MODEL: 'local/mine', CLOUD_KEY: 'k' }, models: { default: 'cloud/other' } },
      'local/mine',
      /PITH_MODEL/,
    ],
    ['PITH_MODEL as an alias', { env: { PITH_MODEL: 'fast' }, models: { fast: 'cloud/small' } }, 'cloud/small', /PITH_MODEL/],
    ['PITH_MODEL as a prefix', { env: { PITH_MODEL: 'cloud' } }, 'cloud/big', /PITH_MODEL/],
    ['the settings', { env: { CLOUD_KEY: 'k' }, models: { default: 'cloud/other' } }, 'cloud/other', /settings models\.default/],
    [
      'the variable that is set',
      { env: { CLOUD_KEY: 'k', PAIR_KEY: 'k' }, servers: { local: 'here:42' } },
      'cloud/big',
      /CLOUD_KEY is set/,
    ],
    ['the higher rank of two', { env: { CLOUD_KEY: 'k', PAIR_KEY: 'k', PAIR_ID: 'i' } }, 'pair/two', /PAIR_ID and PAIR_KEY are set/],
    ['an empty variable is not set', { env: { CLOUD_KEY: ' ', PITH_MODEL: '' }, servers: { local: 'here:42' } }, 'local/first', /here:42/],
    ['a local server, its first model', { servers: { local: 'here:42' } }, 'local/first', /listens on here:42/],
    [
      'not a server without models',
      { servers: { local: 'here:42' }, listed: [] },
      'last/resort',
      /no model is set up; the server on here:42 could not be used: .*lists no model/,
    ],
    [
      'the highest of several local servers',
      { declared: [last, local, { ...local, prefix: 'better', rank: 21 }], servers: { local: 'here:42', better: 'here:43' } },
      'better/first',
      /listens on here:43/,
    ],
    ['the lowest entry without conditions', { declared: [last, lower, cloud] }, 'lower/lowest', /no model is set up/],
  ])('K44 is %s', async (_name, given, ref, why) => {
    const { router } = setup(given);
    const choice = await router.choose();
    expect(choice.ref).toBe(ref);
    expect(choice.why).toMatch(why);
    expect(await router.resolve('default')).toMatchObject({ ref, why: choice.why, contextWindow: 1_000 });
  });

  it.each([
    [{ PITH_MODEL: 'local/m' }, 'CLOUD_URL is set but not used: local/m is from another provider'],
    [{ PITH_MODEL: 'cloud/m' }, undefined],
    [{ PITH_MODEL: 'local/m', CLOUD_URL: '' }, undefined],
  ])('U-10 says that the address of another provider is not asked: %j', async (env, unused) => {
    const declared = [{ ...cloud, when_env: ['CLOUD_KEY', 'CLOUD_URL'] }, local, last];
    const { router } = setup({ declared, env: { CLOUD_KEY: 'k', CLOUD_URL: 'http://cloud.test/v1', ...env } });
    expect((await router.choose()).unused).toBe(unused);
  });

  it('T14 F10: the model of a stranger is chosen by nothing but its name, and takes no shipped prefix', async () => {
    const stranger = { ...cloud, extensionId: 'nice', prefix: 'nice', when_env: ['PATH'], rank: 100_000, shipped: false };
    const thief = { ...stranger, extensionId: 'thief', prefix: 'cloud' };
    const { router, provider } = setup({ declared: [stranger, thief, cloud, last], env: { PATH: 'p', CLOUD_KEY: 'k' } });
    expect(await router.choose()).toMatchObject({ ref: 'cloud/big' });
    await router.resolve('cloud/big');
    expect(provider).toHaveBeenLastCalledWith('cloud');
    expect(router.providerOf('cloud')).toBe('cloud');
    expect(router.providerOf('fast')).toBe(null);
    const alone = setup({ declared: [stranger], env: { PATH: 'p' } }).router;
    await expect(alone.choose()).rejects.toMatchObject({ code: 'model_unknown' });
    const named = setup({ declared: [stranger, last], env: { PITH_MODEL: 'nice/m' } }).router;
    expect(await named.choose()).toMatchObject({ ref: 'nice/m', why: 'PITH_MODEL' });
  });

  it('K44 says what to do when there is none', async () => {
    await expect(setup({ declared: [cloud] }).router.choose()).rejects.toMatchObject({
      code: 'model_unknown',
      cure: expect.stringContaining('PITH_MODEL'),
    });
  });

  it('is chosen again after a failure and after invalidate', async () => {
    const declared = [cloud];
    const { router, settings } = setup({ declared, models: {} });
    await expect(router.choose()).rejects.toMatchObject({ code: 'model_unknown' });
    declared.push(last);
    expect((await router.choose()).ref).toBe('last/resort');
    settings.models.default = 'cloud/new';
    expect((await router.choose()).ref).toBe('last/resort');
    router.invalidate();
    expect((await router.choose()).ref).toBe('cloud/new');
  });
});

describe('ModelRouter.resolve', () => {
  it('takes aliases, chains of them, and default for one that is not set', async () => {
    const { router } = setup({ models: { fast: 'quick', quick: 'cloud/small', default: 'standard', standard: 'cloud/middle' } });
    expect((await router.resolve('fast')).ref).toBe('cloud/small');
    expect((await router.resolve('fast')).why).toBe('settings models.quick');
    expect((await router.resolve('default')).ref).toBe('cloud/middle');
    expect((await router.resolve('thinking')).ref).toBe('cloud/middle');
  });

  it('keeps all after the first slash as the name', async () => {
    const { router, getModel } = setup();
    expect(await router.resolve('cloud/maker/model:free')).toMatchObject({ ref: 'cloud/maker/model:free', why: 'named' });
    expect(getModel).toHaveBeenCalledWith('maker/model:free', 'cloud');
  });

  it('K44 names the nearest alias or provider for one that is unknown', async () => {
    const { router } = setup();
    const unknown = { code: 'model_unknown', cure: expect.stringContaining('provider/model') };
    await expect(router.resolve('cluod/x')).rejects.toMatchObject({
      ...unknown,
      message: expect.stringContaining(`did you mean 'cloud/x'`),
    });
    await expect(router.resolve('thinkin')).rejects.toMatchObject({
      ...unknown,
      message: expect.stringContaining(`did you mean 'thinking'`),
    });
    const bare = { code: 'model_unknown', cure: 'write provider/model, such as cloud/test' };
    const refusal: unknown = await router.resolve('test').catch((error: unknown) => error);
    expect(refusal).toMatchObject({ ...bare, message: expect.stringContaining('aliases: default, fast') });
    expect(String(refusal)).not.toContain('did you mean');
    await expect(router.resolve('zzzzzzz/x')).rejects.toMatchObject({
      ...unknown,
      cure: expect.stringContaining('providers: cloud, last, local, pair'),
    });
    await expect(setup({ models: { default: 'nope/x' } }).router.resolve('default')).rejects.toMatchObject(unknown);
  });

  it('K44 refuses aliases in a circle and shows it', async () => {
    const { router } = setup({ models: { fast: 'thinking', thinking: 'fast', default: 'default' } });
    await expect(router.resolve('fast')).rejects.toMatchObject({
      code: 'settings_invalid',
      message: expect.stringContaining('fast → thinking → fast'),
    });
    await expect(router.resolve('default')).rejects.toMatchObject({ code: 'settings_invalid' });
    await expect(setup({ models: { default: 'fast' } }).router.resolve('fast')).rejects.toMatchObject({ code: 'settings_invalid' });
  });

  it('asks a provider once for each model, until a failure or invalidate', async () => {
    const { router, getModel } = setup();
    const [first, second] = await Promise.all([router.resolve('cloud/a'), router.resolve('cloud/a')]);
    expect(first.model).toBe(second.model);
    expect(getModel).toHaveBeenCalledTimes(1);
    router.invalidate();
    expect((await router.resolve('cloud/a')).model).not.toBe(first.model);
    getModel.mockImplementationOnce(() => {
      throw new Error('no key');
    });
    await expect(router.resolve('cloud/b')).rejects.toThrow('no key');
    expect((await router.resolve('cloud/b')).ref).toBe('cloud/b');
  });
});

describe('U-6 a model that a person types', () => {
  const known = { declared: [cloud, local], env: { CLOUD_KEY: 'k' }, models: { fast: 'cloud/first' } };

  it('U-6 is completed where one server has it, and taken as it is where it is an alias, a provider or a listed model', async () => {
    const { router, provider } = setup({ ...known, declared: [cloud] });
    expect(await router.meant('second')).toBe('cloud/second');
    const asked = provider.mock.calls.length;
    for (const text of ['fast', 'default', 'thinking', 'cloud', 'cloud/first']) expect(await router.meant(text)).toBe(text);
    expect(provider.mock.calls.length).toBe(asked); // the list is kept
    expect(await router.servers()).toEqual([{ prefix: 'cloud', models: ['first', 'second'], problem: null }]);
    expect(await router.meant('nowhere/x')).toBe('nowhere/x'); // what is wrong with it says who resolves it
  });

  it.each([
    [
      'secnd',
      "no connected server has a model 'secnd' (did you mean 'second'?)",
      'use one of cloud/first, cloud/second, local/first, local/second; or connect a server: pith setup',
    ],
    ['cloud/frist', "'cloud' has no model 'frist' (did you mean 'first'?)", 'use one of cloud/first, cloud/second'],
    ['first', "several servers have 'first'", 'write cloud/first or local/first'],
  ])('U-6 is refused with the nearest names: %s', async (text, message, cure) => {
    await expect(setup(known).router.meant(text)).rejects.toMatchObject({ code: 'model_unknown', message, cure });
  });

  it('U-6 is not said to be nowhere while a server does not say what it has', async () => {
    const { router, provider } = setup({ ...known, declared: [cloud] });
    provider.mockResolvedValue({ ...(await provider()), models: () => Promise.reject(new Error('it sent a web page')) });
    await expect(router.meant('x1')).rejects.toMatchObject({
      message: "no connected server lists a model 'x1', and 'cloud' did not list any",
      cure: 'write cloud/x1; or connect a server: pith setup',
    });
  });

  it('U-6 a server without its key is not listed, and one that does not answer says why', async () => {
    const { router, getModel } = setup(known);
    getModel.mockImplementation(async (_, prefix) => {
      if (prefix === 'cloud') throw new PithError('model_auth', 'no key is set');
      return { model: modelOf(), contextWindow: null };
    });
    expect((await router.servers(true)).map(({ prefix }) => prefix)).toEqual(['local']);
    expect(await router.meant('first')).toBe('local/first');
  });
});

describe('U-4 what keeps the first message from being sent', () => {
  const chosen = { declared: [cloud], models: { default: 'cloud/first' } };

  it('U-4 is the key, the server or the name of the model', async () => {
    expect(await setup(chosen).router.problem()).toBeNull();
    expect(await setup({ ...chosen, models: { default: 'cloud/frist' } }).router.problem()).toMatchObject({
      code: 'model_unknown',
      message: "'cloud' has no model 'frist' (did you mean 'first'?)",
    });
    const { router, getModel } = setup(chosen);
    getModel.mockRejectedValue(new PithError('secret_not_given', 'the key was given for another address', { cure: 'pith setup' }));
    expect(await router.problem()).toMatchObject({ code: 'secret_not_given', cure: 'pith setup' });
  });
});
