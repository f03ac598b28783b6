import { toolResult } from 'pith';
import { describe, expect, it } from 'vitest';
import { png } from '../../fixtures/images.ts';
import { agent, call, createWorld, type World } from './world.ts';

const refusal = (message: string, statusCode = 400) => ({ error: Object.assign(new Error(message), { statusCode }) });
const silent = (statusCode: number) => ({ error: Object.assign(new Error('Bad Request'), { statusCode, responseBody: '' }) });
const data = png().toString('base64');
const other = png(3, 3).toString('base64');
const look = { run: () => toolResult('a picture', { images: [{ mediaType: 'image/png', data: other }] }) };
const attachments = [{ name: 'p.png', image: { mediaType: 'image/png', data } }];
/** The images of the last request. */
const seen = ({ model }: World) => [data, other].map((image) => JSON.stringify(model.requests.at(-1)?.messages).includes(image));

describe('V11 a server that refuses an image', () => {
  it.each([
    'messages.0.content.1.image.source.base64.data: Could not process image',
    'You uploaded an unsupported image. Please make sure your image is valid.',
    'At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels',
    'unknown variant `image_url`, expected `text`',
    'test-model is not a multimodal model',
    'Invalid media type: image/png',
  ])('is asked once more, without those of the last step: %s', async (words) => {
    const world = await createWorld({
      tools: { look },
      script: [{ text: 'I see.' }, call('look'), refusal(words), { text: 'Without, then.' }, { text: 'Later.' }],
    });
    await world.run('this?', { attachments });
    const { end, notices } = await world.run('look');
    expect([end.reason, end.text, notices]).toEqual(['done', 'Without, then.', ['image_refused']]);
    expect(seen(world)).toEqual([true, false]);
    expect(JSON.stringify(world.model.requests.at(-1)?.messages)).toContain('[an image was left out: the server of this model refused it]');
    // It is kept, and not sent to this model again.
    await world.run('and now?');
    expect(seen(world)).toEqual([true, false]);
    expect(JSON.stringify(await world.history())).toContain(other);
  });

  it('that is older costs all images, for this turn and those after it', async () => {
    const script = [{ text: 'I see.' }, refusal('Could not process image'), { text: 'Fine.' }, { text: 'Later.' }];
    const world = await createWorld({ script });
    await world.run('this?', { attachments });
    expect((await world.run('on')).end.text).toBe('Fine.');
    await world.run('on');
    expect(seen(world)).toEqual([false, false]);
  });

  it.each([400, 413, 422])('without a word (%i) is asked once more without it, which the person is told', async (statusCode) => {
    const world = await createWorld({ script: [silent(statusCode), { text: 'Without, then.' }] });
    const { end, notices } = await world.run('this?', { attachments });
    expect([end.reason, end.text, notices]).toEqual(['done', 'Without, then.', ['image_refused']]);
    expect(seen(world)).toEqual([false, false]);
  });

  it('in words that name nothing known is asked once more without it', async () => {
    const world = await createWorld({ script: [refusal('Provider returned error'), { text: 'Without, then.' }] });
    const { end, notices } = await world.run('this?', { attachments });
    expect([end.reason, end.text, notices]).toEqual(['done', 'Without, then.', ['image_refused']]);
  });

  it('and the request still, ends the turn with its words, and nothing is marked', async () => {
    const script = [refusal('no images here'), refusal('no images here'), { text: 'Fine.' }];
    const world = await createWorld({ script });
    expect((await world.run('this?', { attachments })).end.error?.message).toContain('no images here');
    expect(JSON.stringify(await world.history())).not.toContain('refusedBy');
  });

  it('is written down once: the steps after it write what they add', async () => {
    const world = await createWorld({
      tools: {
        look: {
          run: () =>
            world.store.write(
              (statement) => void statement(`CREATE TRIGGER kept BEFORE DELETE ON messages BEGIN SELECT RAISE(ABORT, 'no'); END`),
            ),
        },
      },
      script: [refusal('Could not process image'), call('look'), { text: 'Fine.' }],
    });
    expect((await world.run('this?', { attachments })).end).toMatchObject({ reason: 'done', text: 'Fine.' });
    expect(JSON.stringify(await world.history())).toContain('refusedBy');
  });

  it.each([
    ['the same words where nothing holds an image', [refusal('invalid image'), { text: 'x' }], []],
    ['no word where nothing holds an image', [silent(422), { text: 'x' }], []],
    ['a refused key', [refusal('this key may not send images', 401), { text: 'x' }], attachments],
    ['words about the model', [refusal('unknown model'), { text: 'x' }], attachments],
  ])('%s: it is not asked again', async (_, script, sent) => {
    const world = await createWorld({ script });
    expect((await world.run('this?', { attachments: sent })).end.reason).toBe('error');
    expect(world.model.requests).toHaveLength(1);
  });
});

it.each([
  'Tool call id was call_0fypS1hVX but must be a-z, A-Z, 0-9, with a length of 9.',
  "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40",
  "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
])('V1 a server that refuses its own ids is asked once more, with ids that all take: %s', async (words) => {
  const asks = { calls: [{ name: 'look', input: {}, id: 'call_0fypS1hVX' }] };
  const world = await createWorld({ tools: { look: {} }, script: [asks, refusal(words), { text: 'Fine.' }] });
  expect((await world.run('look')).end.text).toBe('Fine.');
  const [before, after] = world.model.requests.slice(1).map(({ messages }) => JSON.stringify(messages));
  expect([before?.includes('call_0fypS1hVX'), after?.includes('call_0fypS1hVX')]).toEqual([true, false]);
});

describe('thinking effort', () => {
  const effortOf = ({ model }: World) => model.requests.map(({ options }) => options.providerOptions?.['pith']?.['effort']);

  it("is the turn's, else the agent's, and is sent with every request of the turn", async () => {
    const agents = [agent('main', { usesTools: ['ext'], effort: 'low' })];
    const world = await createWorld({ agents, tools: { look }, script: [call('look'), { text: 'a' }, { text: 'b' }] });
    await world.run('go');
    await world.run('go', { policy: { effort: 'high' } });
    expect(effortOf(world)).toEqual(['low', 'low', 'high']);
  });

  it.each([
    [refusal("Unsupported parameter: 'reasoning_effort' is not supported with this model.")],
    [refusal('This model does not support the effort parameter.')],
    [refusal('The model m: reasoning_effort is not supported')],
    [refusal('thinking is not available here', 422)],
    [silent(400)],
  ])('that the server refuses is left out for this turn, and the person is told', async (refused) => {
    const world = await createWorld({ tools: { look }, script: [refused, call('look'), { text: 'Fine.' }] });
    const { end, notices } = await world.run('go', { policy: { effort: 'high' } });
    expect([end.reason, end.text, notices]).toEqual(['done', 'Fine.', ['effort_refused']]);
    expect(effortOf(world)).toEqual(['high', undefined, undefined]);
  });

  it('is not left out where the conversation is too long, or none was sent', async () => {
    const world = await createWorld({ script: [refusal('prompt is too long with this thinking budget'), refusal('no thinking here')] });
    expect((await world.run('go', { policy: { effort: 'high' } })).end.error?.code).toBe('model_context_too_long');
    expect((await world.run('go')).end.error?.message).toContain('no thinking here');
    expect(effortOf(world)).toEqual(['high', undefined]);
  });
});
