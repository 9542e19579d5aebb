"""Questions about symbols in languages with types: who calls, what implements, where used, what does it call.

One small repository a language, with the same parts: an interface, a class that implements it and has a constant and an
attribute, and a class with a base, a constructor and a method that calls the interface.
"""

from __future__ import annotations

import textwrap

import pytest
from weft.codegraph import parse_file
from weft.retrieval import RepositoryIndex, slice_file
from weft.server.chat.evidence import gather


def index_of(text: str) -> RepositoryIndex:
    """An index of files in one text: `#- name` opens each."""
    files: dict[str, str] = {}
    for part in textwrap.dedent(text).split("#- ")[1:]:
        name, _, content = part.partition("\n")
        files[name.strip()] = content
    return RepositoryIndex.build((parse_file(*file), slice_file(*file)) for file in files.items())


REPOSITORIES = {
    "java": index_of(
        """
        #- src/shop/Store.java
        package shop;
        public interface Store { int load(String key); }
        #- src/shop/Disk.java
        package shop;
        public class Disk implements Store {
            public static final int LIMIT = 3;
            int size = LIMIT;
            public int load(String key) { return size; }
        }
        #- src/shop/Shop.java
        package shop;
        public class Shop extends Base {
            private final Store store;
            public Shop(Store store) { this.store = store; }
            @Override
            public int pay(int rate) { return store.load("x") + rate; }
        }
        #- src/shop/Base.java
        package shop;
        public abstract class Base { public abstract int pay(int rate); }
        #- src/app/Main.java
        package app;
        import shop.Disk;
        import shop.Shop;
        public class Main {
            static void run() {
                Shop shop = new Shop(new Disk());
                shop.pay(Disk.LIMIT);
            }
        }
        """
    ),
    "csharp": index_of(
        """
        #- Store.cs
        namespace Shops;
        public interface IStore { int Load(string key); }
        #- Disk.cs
        namespace Shops;
        public class Disk : IStore {
            public const int Limit = 3;
            public int Size { get; set; } = Limit;
            public int Load(string key) { return Size; }
        }
        #- Shop.cs
        namespace Shops;
        public class Shop : Base {
            private readonly IStore store;
            public Shop(IStore store) { this.store = store; }
            public override int Pay(int rate) { return store.Load("x") + rate; }
        }
        #- Base.cs
        namespace Shops;
        public abstract class Base { public abstract int Pay(int rate); }
        #- Main.cs
        using Shops;
        namespace App;
        public class Program {
            static void Run() {
                var shop = new Shop(new Disk());
                shop.Pay(Disk.Limit);
            }
        }
        """
    ),
    "kotlin": index_of(
        """
        #- Store.kt
        package shop
        interface Store { fun load(key: String): Int }
        #- Disk.kt
        package shop
        class Disk : Store {
            val size = LIMIT
            override fun load(key: String): Int = size
        }
        const val LIMIT = 3
        #- Shop.kt
        package shop
        class Shop(private val store: Store) : Base() {
            override fun pay(rate: Int): Int = store.load("x") + rate
        }
        #- Base.kt
        package shop
        abstract class Base { abstract fun pay(rate: Int): Int }
        #- Main.kt
        package app
        import shop.Disk
        import shop.Shop
        import shop.LIMIT
        fun run() {
            val shop = Shop(Disk())
            shop.pay(LIMIT)
        }
        """
    ),
    "rust": index_of(
        """
        #- Cargo.toml
        [package]
        name = "shops"
        #- src/lib.rs
        pub mod store;
        pub mod shop;
        #- src/store.rs
        pub const LIMIT: i32 = 3;
        pub trait Store { fn load(&self, key: &str) -> i32; }
        pub struct Disk { pub size: i32 }
        impl Store for Disk {
            fn load(&self, key: &str) -> i32 { self.size }
        }
        #- src/shop.rs
        use crate::store::{Disk, Store, LIMIT};
        pub struct Shop { store: Disk }
        impl Shop {
            pub fn new(store: Disk) -> Self { Shop { store } }
            pub fn pay(&self, rate: i32) -> i32 { self.store.load("x") + rate }
        }
        pub fn run() {
            let shop = Shop::new(Disk { size: 1 });
            shop.pay(LIMIT);
        }
        """
    ),
    "cpp": index_of(
        """
        #- store.h
        #pragma once
        namespace shops {
        constexpr int kLimit = 3;
        class Store { public: virtual int load(const char* key) = 0; };
        class Disk : public Store {
         public:
          int size = kLimit;
          int load(const char* key) override { return size; }
        };
        }
        #- shop.h
        #pragma once
        #include "store.h"
        namespace shops {
        class Shop {
         public:
          explicit Shop(Store* store);
          int pay(int rate);
         private:
          Store* store_;
        };
        }
        #- shop.cc
        #include "shop.h"
        namespace shops {
        Shop::Shop(Store* store) : store_(store) {}
        int Shop::pay(int rate) { return store_->load("x") + rate; }
        }
        #- main.cc
        #include "shop.h"
        int run() {
          shops::Disk disk;
          shops::Shop shop(&disk);
          return shop.pay(shops::kLimit);
        }
        """
    ),
    "ruby": index_of(
        """
        #- lib/store.rb
        module Shops
          LIMIT = 3
          module Store
            def load(key); end
          end
          class Disk
            include Store
            attr_accessor :size
            def initialize
              @size = LIMIT
            end
            def load(key)
              @size
            end
          end
        end
        #- lib/shop.rb
        module Shops
          class Shop < Base
            def initialize(store)
              @store = store
            end
            def pay(rate)
              @store.load("x") + rate
            end
          end
          class Base
          end
        end
        #- main.rb
        def run
          shop = Shops::Shop.new(Shops::Disk.new)
          shop.pay(Shops::LIMIT)
          shop.method(:pay)
        end
        """
    ),
    "php": index_of(
        """
        #- src/Store.php
        <?php
        namespace Shops;
        interface Store { public function load(string $key): int; }
        #- src/Disk.php
        <?php
        namespace Shops;
        class Disk implements Store {
            const LIMIT = 3;
            public int $size = self::LIMIT;
            public function load(string $key): int { return $this->size; }
        }
        #- src/Shop.php
        <?php
        namespace Shops;
        class Shop extends Base {
            public function __construct(private Store $store) {}
            public function pay(int $rate): int { return $this->store->load("x") + $rate; }
        }
        abstract class Base {}
        #- main.php
        <?php
        use Shops\\Disk;
        use Shops\\Shop;
        function run() {
            $shop = new Shop(new Disk());
            $shop->pay(Disk::LIMIT);
        }
        """
    ),
    "scala": index_of(
        """
        #- Store.scala
        package shop
        trait Store { def load(key: String): Int }
        #- Disk.scala
        package shop
        class Disk extends Store {
          val size = Disk.Limit
          def load(key: String): Int = size
        }
        object Disk { val Limit = 3 }
        #- Shop.scala
        package shop
        class Shop(store: Store) extends Base {
          def pay(rate: Int): Int = store.load("x") + rate
        }
        #- Base.scala
        package shop
        abstract class Base { def pay(rate: Int): Int }
        #- Main.scala
        package app
        import shop.{Disk, Shop}
        object Main {
          def run(): Int = {
            val shop = new Shop(new Disk())
            shop.pay(Disk.Limit)
          }
        }
        """
    ),
}


@pytest.mark.parametrize(
    ("language", "question", "answer"),
    [
        ("java", "Who calls Shop.pay?", "`Shop.pay` is called at 1 location, in `Main.run`."),
        ("java", "What calls Store.load?", "`Store.load` is called at 1 location, in `Shop.pay`."),
        ("java", "What implements Store?", "1 class inherits from `Store`: `Disk`."),
        ("java", "Where is Disk.LIMIT used?", "`Disk.LIMIT` is read at 1 location; passed as a value at 1 location."),
        ("java", "Where is Disk.size used?", "`Disk.size` is read at 1 location."),
        ("java", "What does Shop.pay call?", "`Shop.pay` calls `Store.load`."),
        (
            "java",
            "Where is `Shop` used?",
            "`Shop` is called at 1 location, in `Main.run`. `Shop` is named as a type at 1 location."
            " `Shop` is imported at 1 location.",
        ),
        (
            "java",
            "Where is `Store` used?",
            "`Store` is named as a type at 2 locations; named as a base type at 1 location.",
        ),
        ("java", "Which classes extend Base?", "1 class inherits from `Base`: `Shop`."),
        ("csharp", "Who calls Shop.Pay?", "`Shop.Pay` is called at 1 location, in `Program.Run`."),
        ("csharp", "What calls IStore.Load?", "`IStore.Load` is called at 1 location, in `Shop.Pay`."),
        ("csharp", "What implements IStore?", "1 class inherits from `IStore`: `Disk`."),
        ("csharp", "Where is Disk.Limit used?", "`Disk.Limit` is read at 1 location; passed as a value at 1 location."),
        ("csharp", "Where is Disk.Size used?", "`Disk.Size` is read at 1 location."),
        ("csharp", "What does Shop.Pay call?", "`Shop.Pay` calls `IStore.Load`."),
        ("csharp", "Where is `Shop` used?", "`Shop` is called at 1 location, in `Program.Run`."),
        (
            "csharp",
            "Where is `IStore` used?",
            "`IStore` is named as a type at 2 locations; named as a base type at 1 location.",
        ),
        ("csharp", "Which classes extend Base?", "1 class inherits from `Base`: `Shop`."),
        ("kotlin", "Who calls Shop.pay?", "`Shop.pay` is called at 1 location, in `run`."),
        ("kotlin", "What calls Store.load?", "`Store.load` is called at 1 location, in `Shop.pay`."),
        ("kotlin", "What implements Store?", "1 class inherits from `Store`: `Disk`."),
        ("kotlin", "Where is LIMIT used?", "`LIMIT` is read at 1 location; passed as a value at 1 location."),
        ("kotlin", "Where is Disk.size used?", "`Disk.size` is read at 1 location."),
        ("kotlin", "What does Shop.pay call?", "`Shop.pay` calls `Store.load`."),
        (
            "kotlin",
            "Where is `Shop` used?",
            "`Shop` is called at 1 location, in `run`. `Shop` is imported at 1 location.",
        ),
        (
            "kotlin",
            "Where is `Store` used?",
            "`Store` is named as a type at 1 location; named as a base type at 1 location.",
        ),
        ("kotlin", "Which classes extend Base?", "1 class inherits from `Base`: `Shop`."),
        ("rust", "Who calls Shop.pay?", "`Shop.pay` is called at 1 location, in `run`."),
        ("rust", "What calls Disk.load?", "`Disk.load` is called at 1 location, in `Shop.pay`."),
        ("rust", "What implements Store?", "1 definition inherits from `Store`: `Disk`."),
        ("rust", "Where is LIMIT used?", "`LIMIT` is passed as a value at 1 location."),
        ("rust", "Where is Disk.size used?", "`Disk.size` is read at 1 location."),
        ("rust", "What does Shop.pay call?", "`Shop.pay` calls `Disk.load`."),
        ("rust", "Where is `Shop` used?", "`Shop` is named as a type at 2 locations; read at 1 location."),
        (
            "rust",
            "Where is `Store` used?",
            "`Store` is named as a base type at 1 location. `Store` is imported at 1 location.",
        ),
        ("cpp", "Who calls Shop.pay?", "`Shop.pay` is called at 1 location, in `run`."),
        ("cpp", "What calls Store.load?", "`Store.load` is called at 1 location, in `shops.Shop.pay`."),
        ("cpp", "What implements Store?", "1 class inherits from `Store`: `shops.Disk`."),
        ("cpp", "Where is kLimit used?", "`kLimit` is read at 1 location; passed as a value at 1 location."),
        ("cpp", "Where is Disk.size used?", "`Disk.size` is read at 1 location."),
        ("cpp", "What does Shop.pay call?", "`Shop.pay` calls `shops.Store.load`."),
        (
            "cpp",
            "Where is `Shop` used?",
            "`Shop` is called at 1 location, in `run`. `Shop` is named as a type at 1 location.",
        ),
        (
            "cpp",
            "Where is `Store` used?",
            "`Store` is named as a type at 3 locations in 2 files; named as a base type at 1 location.",
        ),
        ("ruby", "Who calls Shop.pay?", "`Shop.pay` is called at 2 locations, in `run`."),
        ("ruby", "What calls Store.load?", "`Store.load` is called at 1 location, in `Shops.Shop.pay`."),
        ("ruby", "What implements Store?", "1 class inherits from `Store`: `Shops.Disk`."),
        ("ruby", "Where is LIMIT used?", "`LIMIT` is read at 1 location; passed as a value at 1 location."),
        ("ruby", "Where is Disk.size used?", "`Disk.size` is read at 1 location; assigned at 1 location."),
        ("ruby", "What does Shop.pay call?", "`Shop.pay` calls `Shops.Store.load`."),
        ("ruby", "Where is `Shop` used?", "`Shop` is called at 1 location, in `run`."),
        ("ruby", "Where is `Store` used?", "`Store` is named as a base type at 1 location."),
        ("ruby", "Which classes extend Base?", "1 class inherits from `Base`: `Shops.Shop`."),
        ("php", "Who calls Shop.pay?", "`Shop.pay` is called at 1 location, in `run`."),
        ("php", "What calls Store.load?", "`Store.load` is called at 1 location, in `Shop.pay`."),
        ("php", "What implements Store?", "1 class inherits from `Store`: `Disk`."),
        ("php", "Where is Disk.LIMIT used?", "`Disk.LIMIT` is read at 1 location; passed as a value at 1 location."),
        ("php", "Where is Disk.size used?", "`Disk.size` is read at 1 location."),
        ("php", "What does Shop.pay call?", "`Shop.pay` calls `Store.load`."),
        ("php", "Where is `Shop` used?", "`Shop` is called at 1 location, in `run`. `Shop` is imported at 1 location."),
        (
            "php",
            "Where is `Store` used?",
            "`Store` is named as a type at 1 location; named as a base type at 1 location.",
        ),
        ("php", "Which classes extend Base?", "1 class inherits from `Base`: `Shop`."),
        ("scala", "Who calls Shop.pay?", "`Shop.pay` is called at 1 location, in `Main.run`."),
        ("scala", "What calls Store.load?", "`Store.load` is called at 1 location, in `Shop.pay`."),
        ("scala", "What implements Store?", "1 class inherits from `Store`: `Disk`."),
        ("scala", "Where is Disk.Limit used?", "`Disk.Limit` is read at 1 location; passed as a value at 1 location."),
        ("scala", "Where is Disk.size used?", "`Disk.size` is read at 1 location."),
        ("scala", "What does Shop.pay call?", "`Shop.pay` calls `Store.load`."),
        (
            "scala",
            "Where is `Shop` used?",
            "`Shop` is called at 1 location, in `Main.run`. `Shop` is imported at 1 location.",
        ),
        (
            "scala",
            "Where is `Store` used?",
            "`Store` is named as a type at 1 location; named as a base type at 1 location.",
        ),
        ("scala", "Which classes extend Base?", "1 class inherits from `Base`: `Shop`."),
    ],
)
def test_uses_are_found(language: str, question: str, answer: str):
    findings = gather({"shop": REPOSITORIES[language]}, question).findings
    assert " ".join(finding.text for finding in findings) == answer


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        (
            """
            #- a.kt
            class Till { var sum = 1 }
            fun f(t: Till?) {
                t?.sum
                t!!.sum = 2
                print(t.sum)
                t.sum.toString()
            }
            """,
            "Where is Till.sum used?",
            "`Till.sum` is read at 2 locations; assigned at 1 location; passed as a value at 1 location.",
        ),
        (
            """
            #- A.java
            class Till {
                Till(int sum) {}
                void join(Till other) {}
            }
            """,
            "Where is Till used?",
            "`Till` is named as a type at 1 location.",
        ),
        (
            """
            #- a.cc
            class Till {
             public:
              Till(int sum);
              void join(Till* other);
              class Drawer;
            };
            class Till::Drawer {
              explicit Drawer(Till* till);
            };
            """,
            "Where is Till used?",
            "`Till` is named as a type at 2 locations.",
        ),
        (
            """
            #- a.kt
            const val RATE = 1
            class Till(val sum: Int = RATE)
            fun f(t: Till, sum: Int = t.sum) = sum
            """,
            "Where is Till.sum used?",
            "`Till.sum` is read at 1 location.",
        ),
        (
            """
            #- a.h
            class Shop { public: template <typename T> class Walker { T walk(); }; };
            #- a.cc
            #include "a.h"
            class Till : public Shop::Walker<int> {};
            Shop::Walker<bool>* walker;
            """,
            "Where is Shop::Walker used?",
            "`Shop.Walker` is named as a type at 1 location; named as a base type at 1 location.",
        ),
        (
            """
            #- a.kt
            enum class Mode(val n: Int) { OPEN(1), SHUT(2) }
            fun f(m: Mode) = when (m) {
                Mode.OPEN -> 1
                else -> Mode.SHUT.n
            }
            """,
            "Where is Mode.OPEN used?",
            "`Mode.OPEN` is read at 1 location.",
        ),
        (
            """
            #- a.swift
            class Till { var sum = 1 }
            func f(t: Till) {
                t.sum = 2
                g(t.sum)
            }
            """,
            "Where is Till.sum used?",
            "`Till.sum` is assigned at 1 location; passed as a value at 1 location.",
        ),
        (
            """
            #- A.java
            enum Mode { OPEN(1), SHUT(2); final int n; Mode(int n) { this.n = n; } }
            class A { int f() { return Mode.OPEN.n; } }
            """,
            "Where is Mode.OPEN used?",
            "`Mode.OPEN` is read at 1 location.",
        ),
        (
            """
            #- a.cc
            enum class Mode { open = 1, shut };
            int f(Mode m) { return m == Mode::open; }
            """,
            "Where is Mode::open used?",
            "`Mode.open` is read at 1 location.",
        ),
        (
            """
            #- a.h
            typedef enum { kOpen, kShut } mode_t;
            #- a.c
            #include "a.h"
            int f(mode_t m) { return m == kOpen; }
            """,
            "Where is kOpen used?",
            "`kOpen` is read at 1 location.",
        ),
        (
            """
            #- a.h
            namespace shop { const int kRate = 3; }
            #- a.cc
            #include "a.h"
            namespace shop {
            int f(int rate) { return rate + kRate; }
            int g() { int kRate = 2; return kRate; }
            }
            """,
            "Where is shop::kRate used?",
            "`shop.kRate` is read at 1 location.",
        ),
    ],
)
def test_members_and_enum_constants_are_used_but_not_by_their_definition(text: str, question: str, answer: str):
    (finding,) = gather({"shop": index_of(text)}, question).findings
    assert finding.text == answer
