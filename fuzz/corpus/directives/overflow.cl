//kf: launch f global=(rows*9223372036854775807) local=(1) args=()
