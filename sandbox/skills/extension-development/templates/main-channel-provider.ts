import { PithError, type ChannelMessage, type ChannelProvider, type ExtensionContext } from 'pith';

const TIMEOUT_MS = 8_000;

export default class MyChannel implements ChannelProvider {
  readonly kinds = ['pager'];

  constructor(private readonly context: ExtensionContext) {}

  async deliver(message: ChannelMessage, target: string): Promise<string> {
    const address = this.context.getSecret('MY_CHANNEL_URL');
    if (address === null) throw new PithError('not_found', 'no address is set', { cure: 'set MY_CHANNEL_URL' });
    const response = await fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text: message.text, kind: message.kind, target }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok) {
      throw new PithError('provider_failed', `the address answered ${response.status}`, {
        statusCode: response.status,
        retryable: response.status >= 500,
      });
    }
    return `${target}-${this.context.clock.now()}`;
  }
}
