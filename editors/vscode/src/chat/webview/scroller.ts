// The scroll position of the conversation: the last question stays at the top of the view while its answer is written.
//
// Follows the end of the answer only after a person scrolled there. Owns no element of the conversation.

/** The distance to the end, in pixels, within which a person is at the end. */
const NEAR_END = 8;

export class Scroller {
  /** A person scrolled to the end of the answer. */
  private follows = false;
  private lastTop = 0;
  /** What comes to the top once the view is no longer hidden. */
  private pending: Element | null | undefined;

  constructor(private readonly view: HTMLElement) {
    view.addEventListener("scroll", () => this.onScroll());
  }

  /** Brings an element of the view to its top. */
  toTop(element: Element | null): void {
    this.follows = false;
    if (this.view.hidden) {
      this.pending = element;
      return;
    }
    this.pending = undefined;
    if (!element) return;
    const distance = element.getBoundingClientRect().top - this.view.getBoundingClientRect().top;
    this.moveTo(this.view.scrollTop + distance);
  }

  /** Call when the answer grew. */
  follow(): void {
    if (this.follows && !this.view.hidden) this.moveTo(this.view.scrollHeight);
  }

  hide(): void {
    this.view.hidden = true;
  }

  /** Shows the view again, with its position: a hidden element has none. */
  unhide(): void {
    if (!this.view.hidden) return;
    this.view.hidden = false;
    if (this.pending) this.toTop(this.pending);
    else this.moveTo(this.lastTop);
  }

  private moveTo(top: number): void {
    this.view.scrollTop = top;
    this.lastTop = this.view.scrollTop;
  }

  private onScroll(): void {
    if (this.view.hidden) return;
    const { scrollTop, scrollHeight, clientHeight } = this.view;
    const isMoved = Math.abs(scrollTop - this.lastTop) >= 1; // else the event is of `moveTo`
    const isDown = scrollTop > this.lastTop;
    this.lastTop = scrollTop;
    if (isMoved) this.follows = isDown && scrollHeight - scrollTop - clientHeight < NEAR_END;
  }
}
