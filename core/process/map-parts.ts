/** Each part as `change` makes it. No generator: one that was returned before it began would leave its source open. */
export function mapParts<From, To>(parts: AsyncIterable<From>, change: (part: From) => To): AsyncIterable<To> {
  return {
    [Symbol.asyncIterator]() {
      const source = parts[Symbol.asyncIterator]();
      return {
        async next() {
          const { done, value } = await source.next();
          if (done) return { done, value: undefined };
          try {
            return { done: false, value: change(value) };
          } catch (error) {
            await source.return?.();
            throw error;
          }
        },
        async return() {
          await source.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
