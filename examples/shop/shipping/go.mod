module example.org/shop/shipping

go 1.22
