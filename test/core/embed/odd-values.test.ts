import { PithError } from 'pith';
import { createPith, type EmbeddedModel, type PithOptions } from 'pith/embed';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ERROR_CODES } from '../../../core/kernel/index.ts';
import { folderWith } from '../../places.ts';

describe('U47 whatever a program gives', () => {
  const fails = () => {
    throw new Error('odd');
  };
  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = cyclic;
  const ODD: Readonly<Record<string, unknown>> = {
    null: null,
    'a fraction': 1.5,
    'a symbol': Symbol('odd'),
    'an empty text': '',
    'a text with NUL': 'a\0b',
    'half a character': '\ud800',
    'a place below a file': '/dev/null/odd',
    'a list of null': [null],
    'a list of a text with NUL': ['a\0b'],
    'an unknown key': { odd: 1 },
    'an object in itself': cyclic,
    'a map': new Map([['odd', 1]]),
    'an object that throws': new Proxy(
      {},
      { get: fails, has: fails, ownKeys: fails, getOwnPropertyDescriptor: fails, getPrototypeOf: fails },
    ),
    'a property that throws': Object.defineProperty({}, 'odd', { enumerable: true, get: fails }),
    'a function that throws': fails,
    'a function that gives null': async () => null,
  };
  const OPTIONS = 'sandbox project skills extensions agents instructions tools model approve store limits clock settings env'.split(' ');
  const OF_RUN = 'thread agent model signal limits userId output'.split(' ');
  const hello: EmbeddedModel = {
    specificationVersion: 'v3',
    provider: 'own',
    modelId: 'hello',
    doStream: async () => ({
      stream: (async function* () {
        yield { type: 'text-delta', id: '1', delta: 'hello' };
        yield { type: 'finish', finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } };
      })(),
    }),
  };

  /** What does not reject with a code that is known. */
  async function wrongOf(calls: Readonly<Record<string, (odd: never) => unknown>>): Promise<readonly string[]> {
    const wrong: string[] = [];
    for (const [what, call] of Object.entries(calls))
      for (const [which, odd] of Object.entries(ODD))
        try {
          await call(odd as never);
        } catch (error) {
          const { code = 'without a code', message } = error as { readonly code?: string; readonly message: string };
          const isKnown = error instanceof PithError && (ERROR_CODES as readonly string[]).includes(code) && code !== 'internal';
          if (!isKnown) wrong.push(`${what}, ${which}: ${code}: ${message}`);
        }
    return wrong;
  }

  it('each option of createPith is taken or refused by a code', async () => {
    const folder = process.cwd();
    process.chdir(folderWith()); // a text is a store beside the program
    onTestFinished(() => process.chdir(folder));
    const runs = async (options: PithOptions) => {
      await using pith = await createPith(options);
      await pith.run('hi').result;
    };
    const options = OPTIONS.map((name) => [name, (odd: never) => runs({ model: hello, [name]: odd })] as const);
    expect(await wrongOf({ createPith: runs, ...Object.fromEntries(options) })).toEqual([]);
  });

  it('each argument of its functions is taken or refused by a code', async () => {
    await using pith = await createPith({ model: hello, tools: { pay: { needsApproval: true, execute: () => 'paid' } } });
    const options = OF_RUN.map((name) => [`run.${name}`, (odd: never) => pith.run('hi', { [name]: odd }).result] as const);
    const calls = {
      run: (odd: never) => pith.run(odd).result,
      'run, options': (odd: never) => pith.run('hi', odd).result,
      ...Object.fromEntries(options),
      resume: (odd: never) => pith.resume(odd).result,
      'resume, answers': (odd: never) => pith.resume('t', odd).result,
      'resume, an answer': (odd: never) => pith.resume('t', { question: odd }).result,
      'resume, options': (odd: never) => pith.resume('t', {}, odd).result,
      questions: (odd: never) => pith.questions(odd),
      'threads.list': (odd: never) => pith.threads.list(odd),
      'threads.messages': (odd: never) => pith.threads.messages(odd),
      'threads.remove': (odd: never) => pith.threads.remove(odd),
    };
    expect(await wrongOf(calls)).toEqual([]);
  });
});
