import { PithError } from 'pith';
import { describe, expect, it } from 'vitest';
import { modelFailure, refusedPart } from '../../../core/models/index.ts';
import { failed } from './scripted-stream.ts';

const KEY = 'sk-proj-abcDEF1234567890canary';

const refused = (statusCode: number, responseBody: string) => failed({ statusCode, responseBody }, 'Bad Request');

describe('modelFailure', () => {
  it.each<[string, Error, string, RegExp]>([
    ['a wrong key', failed({ statusCode: 401 }, `Incorrect API key provided: ${KEY}`), 'model_auth', /refused the key \(401\)/],
    [
      'V7 a forbidden one',
      failed({ statusCode: 403, responseBody: '{"error":"not in your region"}' }),
      'model_auth',
      /\(403\): not in your region$/,
    ],
    [
      'an unknown model',
      failed({ statusCode: 404 }, 'The model `gpt-9` does not exist'),
      'model_unknown',
      /does not know this model \(404\).*gpt-9/,
    ],
    [
      'an unknown model told by code',
      failed({ statusCode: 400, data: { error: { code: 'model_not_found' } } }),
      'model_unknown',
      /does not know/,
    ],
    ['an unknown model of Ollama', failed({ statusCode: 404 }, `model 'llama9' not found`), 'model_unknown', /llama9/],
    ['a rate limit', failed({ statusCode: 429 }, 'slow down'), 'model_rate_limited', /429.*slow down/],
    ['an overload without status', failed({ type: 'overloaded_error' }, 'Overloaded'), 'model_rate_limited', /Overloaded/],
    [
      'a long context by code',
      failed({ statusCode: 400, data: { error: { code: 'context_length_exceeded' } } }),
      'model_context_too_long',
      /longer than the model/,
    ],
    [
      'a long context by message',
      failed({ statusCode: 400 }, 'prompt is too long: 210000 tokens > 200000 maximum'),
      'model_context_too_long',
      /longer/,
    ],
    [
      'a long context by body',
      failed(
        { statusCode: 400, responseBody: `{"error":{"message":"This model's maximum context length is 8192 tokens"}}` },
        'Bad Request',
      ),
      'model_context_too_long',
      /longer/,
    ],
    ...['null', 'false', '\0\u0001'].map((body): [string, Error, string, RegExp] => [
      `V11 nothing that is a word: ${JSON.stringify(body)}`,
      refused(400, body),
      'model_failed',
      /: Bad Request \(400\)$/,
    ]),
    ['too large a request', failed({ statusCode: 413 }), 'model_context_too_long', /longer/],
    ['a server error', failed({ statusCode: 500 }, 'boom'), 'model_failed', /boom \(500\)/],
    ['anything else', new Error('odd'), 'model_failed', /odd/],
    [
      'V7 what a body says better',
      failed({ statusCode: 400, responseBody: '{"detail":"no GPU"}' }, 'Bad Request'),
      'model_failed',
      /no GPU \(400\)/,
    ],
    ['V7 what a terminal would obey', new Error('a\u001b[2J\u202eb'), 'model_failed', /a\\x1b\[2J\\u\{202e\}b$/],
    [
      'V7 a context in the words of llama.cpp',
      failed({ statusCode: 400 }, 'the request exceeds the available context size'),
      'model_context_too_long',
      /longer/,
    ],
  ])('tells %s', (_name, error, code, message) => {
    const failure = modelFailure(error, 'openai/gpt-9');
    expect(failure).toBeInstanceOf(PithError);
    expect(failure).toMatchObject({ code, where: 'openai/gpt-9' });
    expect(failure.message).toMatch(message);
    expect(failure.message.startsWith('model openai/gpt-9: ')).toBe(true);
  });

  it('tells which address refused the connection', () => {
    const cause = failed({
      errors: [
        failed({ code: 'ECONNREFUSED', address: '::1', port: 11_434 }),
        failed({ code: 'ECONNREFUSED', address: '127.0.0.1', port: 11_434 }),
      ],
    });
    expect(modelFailure(failed({ cause }, 'fetch failed'), 'ollama/x')).toMatchObject({
      code: 'model_unreachable',
      message: expect.stringContaining('to [::1]:11434 (ECONNREFUSED)'),
      retryable: true,
    });
    expect(modelFailure(failed({ url: 'http://localhost:8080/v1/chat', cause: failed({ code: 'ECONNRESET' }) }), 'x/y').message).toContain(
      'the connection to localhost:8080 broke (ECONNRESET)',
    );
    expect(modelFailure(new TypeError('fetch failed'), 'x/y').code).toBe('model_unreachable');
  });

  it('says what to do about a fault of the server, and about an answer that broke off', () => {
    expect(modelFailure(failed({ statusCode: 503, url: 'http://box:8080/v1' }, 'boom'), 'x/y').cure).toMatch(
      /^the error is on the side of box:8080: send the message again/u,
    );
    const cut = modelFailure(failed({ cause: failed({ code: 'UND_ERR_SOCKET' }) }, 'terminated'), 'x/y', { answering: true });
    expect(cut).toMatchObject({ code: 'model_unreachable', cure: 'send the message again' });
    expect(cut.message).toContain('broke while it answered');
  });

  it.each([
    ['in milliseconds', { 'Retry-After-Ms': '1234' }, 1_234],
    ['in seconds', { 'retry-after': '7200' }, 7_200_000],
    ['as a date', { 'retry-after': new Date(9_000).toUTCString() }, 8_000],
    ['nonsense', { 'retry-after': 'soon' }, undefined],
  ])('J11: says when the server takes requests again: %s', (_name, responseHeaders, retryAfterMs) => {
    const failure = modelFailure(failed({ statusCode: 429, responseHeaders }), 'x/y', { now: 1_000 });
    expect(failure).toMatchObject({ code: 'model_rate_limited', retryAfterMs });
  });

  it('names the variable for the key, and never a key', () => {
    const failure = modelFailure(
      failed({ statusCode: 401, responseBody: KEY, requestBodyValues: { KEY } }, `Incorrect API key provided: ${KEY}`),
      'my-host/model',
    );
    expect(failure.cure).toContain('MY_HOST_API_KEY');
    expect(failure.cause).toBeUndefined();
    expect(JSON.stringify([failure.message, failure.cure, failure])).not.toContain('canary');
  });

  it.each([
    `bad key ${KEY}`,
    'header Authorization: Bearer canary.canary',
    'sent api_key=canary',
    '{"api_key":"canary"}',
    'x-api-key: canary',
    'at https://user:canary@host/v1',
    'at https://host/v1?key=canary&x=1',
    'token eyJhbGciOiJI.canary.canary',
    'AIzaSyA-1234567890canary',
    'Basic Y2FuYXJ5canary',
  ])('hides the secret in: %s', (message) => {
    expect(modelFailure(failed({ statusCode: 500 }, message), 'x/y').message).not.toContain('canary');
  });

  it('V7 V11 says of a request that is too large no more than the server does', () => {
    expect(modelFailure(refused(413, ''), 'x/y')).toMatchObject({
      code: 'model_context_too_long',
      message: 'model x/y: the request is larger than the server takes (413)',
    });
  });

  it('keeps its length, and an error that is clear already', () => {
    expect(modelFailure(new Error('long '.repeat(1_000)), 'x/y').message.length).toBeLessThan(400);
    const clear = new PithError('model_script', 'unexpected step');
    expect(modelFailure(clear, 'x/y')).toBe(clear);
    expect(modelFailure(failed({ name: 'AbortError' }), 'x/y').code).toBe('aborted');
    expect(modelFailure('just text', 'x/y').message).toContain('just text');
    expect(modelFailure(undefined, 'x/y').code).toBe('model_failed');
  });

  it('reads errors that refer to themselves', () => {
    const error = failed({ statusCode: 500 });
    Object.assign(error, { cause: error, data: { error } });
    expect(modelFailure(error, 'x/y').code).toBe('model_failed');
  });
});

describe('V11 which part of a request a server refused', () => {
  it.each<[what: string, Error, ReturnType<typeof refusedPart>]>([
    ['an image that it cannot read', failed({ statusCode: 400 }, 'Could not process image'), 'image'],
    ['a request that is too large', failed({ statusCode: 413 }, 'image exceeds 5 MB maximum'), 'image'],
    ['an input that it does not know', failed({ statusCode: 422 }, 'unknown variant `image_url`, expected `text`'), 'image'],
    ['words without a status', failed({}, 'test-model is not a multimodal model'), 'image'],
    ['llama.cpp without a projector', failed({ statusCode: 500 }, 'image input is not supported - hint: you may need the mmproj'), 'image'],
    ['OpenRouter without an endpoint', failed({ statusCode: 404 }, 'No endpoints found that support image input'), 'image'],
    ['an empty body', refused(400, ''), 'image'],
    ['a body of blanks', refused(422, ' \r\n'), 'image'],
    ['JSON without a word', refused(400, '{"error":{}}'), 'image'],
    ['the name of the status', refused(413, 'Request Entity Too Large\n'), 'image'],
    ['the name of the status, as JSON', refused(400, '{"statusCode":400,"error":"Bad Request"}'), 'image'],
    ['the page of a proxy', refused(413, '<html><head><title>413 Request Entity Too Large</title></head></html>'), 'image'],
    ['an empty body for an address', refused(404, ''), null],
    ['an empty body for a key', refused(401, ''), null],
    ['an empty body of a server that is not well', refused(503, ''), null],
    ['null', refused(400, 'null'), 'image'],
    ['a number alone', refused(400, '7'), 'image'],
    ['bytes', refused(400, '\0\u0001'), 'image'],
    ['a part of a page', refused(400, '<h1>Bad Request</h1>'), 'image'],
    ['XML', refused(400, '<?xml version="1.0"?><Error><Code>400</Code></Error>'), 'image'],
    ['the kind of error alone', refused(400, '{"error":{"message":"invalid_request_error"}}'), 'image'],
    ['words of a router', refused(400, '"Provider returned error"'), 'image'],
    ['words that name nothing known', refused(422, '{"detail":"temperature is too high"}'), 'image'],
    ['the same within an answer', refused(200, '{"detail":"temperature is too high"}'), null],
    ['a model that it does not know', refused(400, 'model x not found'), null],
    ['a code without a word', failed({ statusCode: 400, responseBody: '{}', code: 'context_length_exceeded' }), null],
    ['a conversation that is too long', refused(413, '{"error":{"message":"Request too large: 9000 tokens"}}'), null],
    ['an id', failed({ statusCode: 400 }, 'tool call id was call_0'), 'call id'],
    ['a container', failed({ statusCode: 500 }, 'failed to pull image'), null],
    ['a gateway', failed({ statusCode: 502 }, 'vision backend: bad gateway'), null],
    ['an overload', failed({ statusCode: 503 }, 'no capacity for vision models right now'), null],
    ['an overload for images', failed({ statusCode: 503 }, 'no capacity for models that support image input'), null],
    ['an overload without a status', failed({}, 'vision models are overloaded'), null],
    ['an overload within an answer', failed({ statusCode: 200 }, 'no capacity for vision models right now'), null],
    ['an address', failed({ statusCode: 404 }, 'no route /v1/images'), null],
    ['a content type', failed({ statusCode: 415 }, 'unsupported media type'), null],
    ['a limit', failed({ statusCode: 429 }, 'too many images per minute'), null],
    ['a key', failed({ statusCode: 401 }, 'this key may not send images'), null],
    ['a lost connection', failed({ code: 'ECONNRESET' }, 'image upload: socket hang up'), null],
  ])('%s', (_, error, part) => {
    expect(refusedPart(error)).toBe(part);
  });
});
