import { type Clock, type LanguageModel, messageOf, type ModelPart, PithError } from '../contract/index.ts';
import { isPlainMap } from '@pith/plain-data';
import { within } from '@pith/promises';
import { missingAnswer } from '@pith/server-answers';
import type { EmbeddedModel, GivenModel } from './options.ts';

/** So long may a program's function take for a model. */
const ANSWER_MS = 60_000;

/** The specifications of language models that are taken. `v4` sends the parts of `v3` that the loop reads. */
const TAKEN = ['v2', 'v3', 'v4'];

/** Of a model object alone nothing is known but what it is. Throws as `modelOf`. */
export function partsOf(given: GivenModel) {
  try {
    const { doStream, model, contextWindow = null } = Object(given) as Partial<EmbeddedModel & Exclude<GivenModel, EmbeddedModel>>;
    return doStream === undefined && model !== undefined
      ? { model: modelOf(model), contextWindow }
      : { model: modelOf(given as EmbeddedModel), contextWindow: null };
  } catch (error) {
    if (error instanceof PithError) throw error;
    throw new PithError('model_unknown', `model: it cannot be read: ${messageOf(error)}`, { cause: error, cure: 'give a model object' });
  }
}

/** What a program's function gives for a reference. Rejects `model_failed` where it throws, and as `modelOf`. */
export async function askedFor(model: (ref: string) => GivenModel | PromiseLike<GivenModel>, ref: string, clock: Pick<Clock, 'after'>) {
  const late = (): never => {
    throw new Error(`it gave no model within ${ANSWER_MS / 1000} s`);
  };
  try {
    return partsOf(
      await within(
        clock,
        ANSWER_MS,
        Promise.resolve().then(() => model(ref)),
        late,
      ),
    );
  } catch (error) {
    if (error instanceof PithError) throw error;
    throw new PithError('model_failed', `model: the function failed for '${ref}': ${messageOf(error)}`, {
      cause: error,
      cure: 'correct it',
    });
  }
}

/** The model as the loop needs it. Throws `model_unknown` for what is no model, or one of another specification. */
function modelOf(made: EmbeddedModel): LanguageModel {
  const given = Object(made) as EmbeddedModel; // a program's function may answer null
  const { specificationVersion: version, provider, modelId } = given;
  if (typeof given.doStream !== 'function' || typeof modelId !== 'string')
    throw new PithError('model_unknown', 'model: it is not a language model of the AI SDK', {
      cure: 'give a model object, or `provider/model`',
    });
  if (!TAKEN.includes(version))
    throw new PithError(
      'model_unknown',
      `model: '${provider}/${modelId}' has specification ${version}, and ${TAKEN.join(', ')} are known`,
      {
        cure: 'use another version of its package',
      },
    );
  const doStream: LanguageModel['doStream'] = async ({ prompt, ...options }) => {
    const answer: unknown = await given.doStream({ ...options, prompt: [...prompt] } as never); // the loop adds to its own array later
    const { stream } = Object(answer) as { readonly stream?: unknown };
    if (typeof stream !== 'object' || stream === null || !(Symbol.asyncIterator in stream))
      throw new PithError('model_failed', `model ${provider}/${modelId}: its doStream gave no stream`, {
        cure: 'answer with { stream }, a ReadableStream or an async iterable',
      });
    return { stream: whole(version === 'v2' ? fromSecond(stream as AsyncIterable<unknown>) : (stream as AsyncIterable<ModelPart>)) };
  };
  return { specificationVersion: 'v3', provider, modelId, doStream };
}

/** Throws where the stream ends without its last part, as the models that ship do: the connection broke. */
async function* whole(stream: AsyncIterable<ModelPart>): AsyncIterable<ModelPart> {
  let last: ModelPart['type'] | undefined;
  for await (const part of stream) {
    if (last !== 'finish') last = part?.type;
    yield part;
  }
  if (last !== 'finish') throw missingAnswer(last !== undefined, '');
}

/** Version 2 has plain reasons and numbers in the last part; all other parts that the loop reads are the same. */
async function* fromSecond(stream: AsyncIterable<unknown>): AsyncIterable<ModelPart> {
  for await (const part of stream) yield (isPlainMap(part) && part['type'] === 'finish' ? finishOf(part) : part) as ModelPart;
}

function finishOf(part: Readonly<Record<string, unknown>>): unknown {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = (part['usage'] ?? {}) as Record<string, number | undefined>;
  return {
    ...part,
    finishReason: { unified: part['finishReason'], raw: undefined },
    usage: {
      inputTokens: { total: inputTokens, noCache: undefined, cacheRead: cachedInputTokens, cacheWrite: undefined },
      outputTokens: { total: outputTokens, text: undefined, reasoning: reasoningTokens },
    },
  };
}
