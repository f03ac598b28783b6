import { defineTopic, type TurnInfo } from 'pith';

/** A turn got text of the web. Published before its call ends. */
export interface WebRead extends Pick<TurnInfo, 'threadId' | 'correlationId'> {
  /** Of the page or the search service. */
  readonly address: string;
}

export const webRead = defineTopic<WebRead>('web.read');
