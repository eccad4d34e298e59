// Stands in for uPlot: jsdom draws nothing. The graph is looked at in the real window.
export default class {
  setData(): void {}
  setCursor(): void {}
  valToPos = () => 0;
  setSize(): void {}
  destroy(): void {}
}
