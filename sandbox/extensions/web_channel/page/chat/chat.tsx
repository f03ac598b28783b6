import type { VNode } from 'preact';

export function Chat(): VNode {
  return <main />;
}
