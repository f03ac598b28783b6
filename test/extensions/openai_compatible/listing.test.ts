import { describe, expect, it } from 'vitest';
import { askModels } from '../../../sandbox/extensions/openai_compatible/listing.ts';
import { endpointOf } from '../../../sandbox/extensions/openai_compatible/endpoint.ts';
import { config } from '../../../sandbox/extensions/openai_compatible/config.ts';
import { serverOf } from '../../places.ts';

/** What comes of asking for models, where the server answers so. */
async function listed(body: string, status = 200): Promise<string> {
  const address = await serverOf((_request, response) => void response.writeHead(status).end(body));
  const endpoint = endpointOf('vllm', config.parse({ providers: { vllm: { base_url: `${address}/v1` } } }), () => null);
  return askModels(endpoint).then(
    (names) => names.join(' '),
    (error: Error & { readonly code: string }) => `${error.code}: ${error.message.replace(/^\S+ /, '')}`,
  );
}

describe('V7 what servers list', () => {
  it.each([
    ['{"object":"list","data":[{"id":"a"},{"id":"b"},{"id":"a"},null,{}]}', 'a b'],
    ['{"data":[]}', ''],
    ['[{"id":"a"},{"id":"b"}]', 'a b'],
    ['{"models":[{"name":"a","model":"a:latest"}]}', 'a'],
    ['["a"]', 'a'],
    [`["a", "${'b'.repeat(1000)}", "c\\nd", "e\\u001b[2J"]`, 'a'],
    ['{"error":{"message":"no GPU"}}', 'model_unreachable: did not list its models: it sent no GPU'],
    ['[{"error":{"message":"no GPU"}}]', 'model_unreachable: did not list its models: it sent no GPU'],
    ['<html><title>Log in</title>', "model_unreachable: did not list its models: it sent a web page ('Log in')"],
    ['\u001b[2Jgone', 'model_unreachable: did not list its models: it sent \\x1b[2Jgone'],
    ['', 'model_unreachable: did not list its models: it sent nothing'],
  ])('%j', async (body, expected) => {
    expect(await listed(body)).toBe(expected);
  });

  it.each([
    [404, '{"detail":"Not Found"}', 'model_unreachable: did not list its models: status 404, Not Found'],
    [500, '', 'model_unreachable: did not list its models: status 500'],
    [401, '{"error":"key sk-canary"}', 'model_auth: wants a key (status 401)'],
  ])('status %i with %s', async (status, body, expected) => {
    expect(await listed(body, status)).toBe(expected);
  });
});
